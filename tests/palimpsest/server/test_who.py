"""Permissions, route by route: what A stored, B cannot read."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, TypeAdapter, ValidationError
from starlette.datastructures import Headers

from palimpsest import AsyncPalimpsest, UsageError
from palimpsest.cli.commands.serving import SILENT
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import Selection, SettleRequest
from palimpsest.process.logs import FORM, PrivateFormatter
from palimpsest.server.callers import SHOW, Authenticator
from palimpsest.server.gate import OPEN, PAGES
from palimpsest.server.hosts import Hosts, is_loopback
from palimpsest.server.http.feed import Feeds
from palimpsest.server.http.v1 import all_operations
from palimpsest.server.mcp.tools import tools_of
from palimpsest.server.problems import ProblemError
from palimpsest.server_process.app import App
from palimpsest.server_process.run import require_safe
from palimpsest.settings.serve import ServeSettings, Token, TokenWatch, read_tokens
from tests.palimpsest.server.conftest import TOKENS, Server, Use, secret, serving, token
from tests.palimpsest.server.test_mcp import client as mcp_client

TEXT = "Ada keeps the rhinoceros a secret"
OTHER = "Ada paints the garden wall"


def requests(memory: str, decision: str) -> dict[str, Any]:
    """By an operation's name, a body that does something to an owner's memory."""
    pair = {"a": memory, "b": memory}
    return {
        "add_memory": {"text": TEXT},
        "add_memories": {"memories": [{"text": TEXT}]},
        "search_memories": {"query": TEXT},
        "find_memories": {"query": "rhinoceros"},
        "check_memory": {"text": TEXT},
        "unmerge": {"decision_id": decision},
        "reinstate": {"decision_id": decision},
        "list_some_memories": {"metadata": {"a": 1}},
        "update_memory": {"text": "Ada says something else", "dry_run": True},
        "restore": {"forgotten": decision},
        "forget_all_memories": {},
        "forget_found_memories": {"memory_ids": [memory], "token": "of nothing"},
        "undo": {"id": decision, "dry_run": True},
        "merge": pair,
        "separate": pair,
        "confirm": {"decision_id": decision},
        "withdraw": pair,
        "reverse": {"selection": {"candidate_id": memory}},
        "reinstate_many": {"selection": {"candidate_id": memory}},
        "retract": {"selection": {"candidate_id": memory}, "dry_run": True},
        "end_session": {"session_id": "monday"},
        "compact_session": {"session_id": "monday"},
    }


def paths(owner: str, memory: str) -> Iterator[tuple[Any, str]]:
    """Every operation with its path for an owner and a memory."""
    for operation in all_operations(Feeds(None)):  # type: ignore[arg-type]
        ids = dict.fromkeys(("memory", "some_id", "other_id"), memory)
        yield operation, operation.path.format(owner=owner, **ids)


async def joined(server: Server) -> tuple[str, str]:
    """Join two memories of ada; return a candidate and the decision."""
    a, b = [(await server.add(text))["candidate_id"] for text in (TEXT, OTHER)]
    merge = await server.ask("POST", "/v1/owners/ada/merge", {"a": a, "b": b}, name="grace")
    return a, merge.json()["decision_id"]


def test_no_route_opens_another_owners_memories(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory, decision = await joined(server)
        tried = 0
        for operation, path in paths("ada", memory):
            body = requests(memory, decision).get(operation.name)
            for name, status in (("bob", 403), (None, 401)):
                response = await server.ask(operation.method, path, body, name=name)
                assert response.status_code == status, (operation.name, response.text)
                assert "rhinoceros" not in response.text
                tried += 1
        assert tried == 2 * len(all_operations(Feeds(None)))  # type: ignore[arg-type]
        assert (await server.twin.status())["candidates"] == 2

    served(used)


def test_an_id_of_another_owner_is_unknown_behind_ones_own_path(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory, decision = await joined(server)
        for operation, path in paths("bob", memory):
            if "owner" not in operation.path or operation.name.startswith("add"):
                continue
            name = "bob" if operation.role == "agent" else "grace"
            body = requests(memory, decision).get(operation.name)
            response = await server.ask(operation.method, path, body, name=name)
            named = any(word in str(body) for word in (memory, decision))
            if named or memory in path:
                assert response.status_code == 404, (operation.name, response.text)
            elif operation.name not in ("find_memories", "check_memory"):  # they echo the request
                assert "rhinoceros" not in response.text
            assert memory not in response.text
        kept = await server.ask("GET", f"/v1/owners/ada/memories/{memory}/joins")
        assert len(kept.json()["members"]) == 2

    served(used)


def test_an_agent_takes_back_what_no_person_said(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        _, decision = await joined(server)
        unmerge, reinstate = "/v1/owners/ada/unmerge", "/v1/owners/ada/reinstate"
        named = {"decision_id": decision}
        for dry_run in (True, False):
            refused = await server.ask("POST", unmerge, named | {"dry_run": dry_run})
            assert refused.status_code == 409, refused.text
            assert refused.json()["reason"] == "outranked"
        assert (await server.ask("POST", unmerge, named, name="grace")).status_code == 200
        refused = await server.ask("POST", reinstate, named)
        assert (refused.status_code, refused.json()["reason"]) == (409, "separated")
        assert (await server.ask("POST", reinstate, named, name="grace")).status_code == 200

        rule = (await server.add(f"{TEXT}."))["decision_id"]
        taken = await server.ask("POST", unmerge, {"decision_id": rule})
        assert taken.status_code == 200, taken.text
        ranks = await server.twin.sql(
            "SELECT rank FROM events WHERE event = 'reversed' ORDER BY position"
        )
        assert [row["rank"] for row in ranks] == ["person", "agent"]

    served(used)


def test_roles_are_for_what_they_say(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory, decision = await joined(server)
        for operation, path in paths("ada", memory):
            body = requests(memory, decision).get(operation.name)
            wanted = 403 if operation.role != "agent" else None
            response = await server.ask(operation.method, path, body)
            assert (response.status_code == 403) == (wanted == 403), operation.name
        for path in ("/v1/status", "/metrics"):
            for name, status in (("ada", 403), ("grace", 403), ("root", 200)):
                assert (await server.ask("GET", path, name=name)).status_code == status
        then = {"query": "Ada", "as_of": 1}
        path = "/v1/owners/ada/memories/search"
        assert (await server.ask("POST", path, then)).status_code == 403
        assert (await server.ask("POST", path, then, name="grace")).status_code == 200

    served(used)


def test_wrong_tokens_are_refused_wherever_they_are(served: Use[None], tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        path = "/v1/owners/ada/decisions"
        unknown = "this server does not know the token"
        shown = {
            "Bearer nobody-knows-this-one": unknown,
            f"Bearer {secret('ada')}x": unknown,
            f"Bearer {secret('ada')[:-1]}": unknown,
            secret("ada"): SHOW,
            f"Basic {secret('ada')}": SHOW,
            "Bearer ": SHOW,
            "Bearer  \t": SHOW,
            "": SHOW,
        }
        for header, detail in shown.items():
            async with server.client(None, authorization=header) as client:
                response = await client.get(path)
            assert response.status_code == 401, header
            assert response.json()["detail"] == detail
            assert response.headers["www-authenticate"] == "Bearer"
        for name in ("token", "access_token", "authorization", "api_key"):
            url = f"{path}?{name}={secret('ada')}"
            assert (await server.ask("GET", url, name=None)).status_code == 401
        for header in (f"Token {secret('ada')}", f"bearer  {secret('ada')}"):
            async with server.client(None, authorization=header) as client:
                assert (await client.get(path)).status_code == 200, header

    served(used)


def test_no_door_opens_without_a_token_that_holds(tmp_path: Path) -> None:
    """Every route of every door: HTTP, MCP and mem0's."""
    past = datetime(2026, 1, 1, tzinfo=UTC)
    tokens = (*TOKENS, token("old", ".*", "operator", expires=past))

    async def run() -> None:
        async with serving(tmp_path / "store", tokens) as server:
            routes = [route for route in server.app.gate.routes if not route.path.startswith(PAGES)]
            doors = {route.path.split("/")[1] for route in routes}
            assert {"v1", "mcp", "mem0", "metrics", "links"} <= doors
            for route in routes:
                method = min(route.methods or ())
                for shown in (None, "Bearer nobody-knows-this-one", f"Bearer {secret('old')}"):
                    headers = {} if shown is None else {"authorization": shown}
                    async with server.client(None, **headers) as client:
                        response = await client.request(method, route.path, json={})
                    wanted = 200 if route.path in OPEN else 401
                    assert response.status_code == wanted, (route.path, shown)

    asyncio.run(run())


def fields(schema: Any) -> Iterator[str]:
    """The names of a schema's fields, at every depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        schema = [*schema.values()]
    if isinstance(schema, list):
        yield from (name for part in schema for name in fields(part))


def test_no_route_and_no_tool_takes_a_path() -> None:
    """A server reads and writes only in its store's folder, whatever is requested."""
    operations = all_operations(Feeds(None))  # type: ignore[arg-type]
    bodies = [
        kind
        for operation in operations
        for kind in (operation.query, operation.body)
        if kind is not None
    ]
    schemas = [TypeAdapter(kind).json_schema() for kind in bodies]
    taken = {
        *fields(schemas),
        *fields([tool.input_schema for tool in tools_of("operator").values()]),
    }
    assert {"text", "dry_run", "memory_id", "occurred_at", "limit"} <= taken
    assert not [name for name in taken if re.search("path|file|folder|director|store|url", name)]


def test_an_expired_token_is_over() -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    old = token("old", "ada", expires=now)
    new = token("new", "ada", expires=now + timedelta(seconds=1))
    known = Authenticator([old, new], lambda: now)
    with pytest.raises(ProblemError, match="expired"):
        known.caller(f"Bearer {secret('old')}")
    assert known.caller(f"Bearer {secret('new')}").name == "new"


def test_blanks_around_a_secret_do_not_count() -> None:
    padded = SecretStr(f" {secret('ada')} ")
    tokens = [Token(name=name, secret=padded, owners="ada") for name in ("ada", "twin")]
    assert Authenticator(tokens[:1]).caller(f"Bearer {secret('ada')}").name == "ada"
    with pytest.raises(UsageError, match="the same secret"):
        ServeSettings(tokens=tuple(tokens)).all_tokens()
    with pytest.raises(ValidationError, match="16 or more"):
        Token(name="ada", secret=SecretStr(f"short{' ' * 16}"), owners="ada")


@pytest.mark.parametrize("owners", ["(", "a{99999999999}", "(" * 9_999 + ")" * 9_999])
def test_a_pattern_that_cannot_be_compiled_is_refused(owners: str) -> None:
    with pytest.raises(ValidationError, match="is not a regular expression"):
        token("ada", owners)


@pytest.mark.parametrize(
    ("pattern", "owner", "may"),
    [
        ("ada", "ada", True),
        ("ada", "adam", False),
        ("ada", "xada", False),
        ("ada|bob", "bobby", False),
        ("ada", "ada\n", False),
        (r"team-\d+", "team-12", True),
        (r"team-\d+", "team-12/x", False),
        (".*", "line\nbreak", False),
    ],
)
def test_a_pattern_matches_the_whole_owner(pattern: str, owner: str, may: bool) -> None:
    caller = Authenticator([token("t", pattern)]).caller(f"Bearer {secret('t')}")
    if may:
        caller.require_owner(owner)
    else:
        with pytest.raises(ProblemError):
            caller.require_owner(owner)


def test_every_route_checks_host_and_origin(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        every = [route.path for route in server.app.gate.routes]
        assert "/healthz" in every
        for path in every:
            for headers, status in (
                ({"host": "evil.example"}, 421),
                ({"host": "localhost.evil.example:7077"}, 421),
                ({"host": "evil.example@localhost"}, 421),
                ({"origin": "http://evil.example"}, 403),
                ({"origin": "null"}, 403),
                ({"origin": "file://localhost"}, 403),
            ):
                async with server.client("root", **headers) as client:
                    response = await client.get(path)
                assert response.status_code == status, (path, headers)
        async with server.client("root", origin="http://localhost:7077") as client:
            assert (await client.get("/v1/status")).status_code == 200

    served(used)


def test_a_name_with_a_port_is_that_port_alone() -> None:
    hosts = Hosts(["Memory.example:8443", "::1"])
    hosts.require("memory.example:8443", "https://memory.example:8443")
    hosts.require("MEMORY.EXAMPLE:8443", None)
    hosts.require("[::1]:9", None)
    Hosts(["[2001:DB8::1]:8443"]).require("[2001:db8::1]:8443", None)
    for host in ("memory.example", "memory.example:80", "", None, "memory.example:8443:1"):
        with pytest.raises(ProblemError):
            hosts.require(host, None)


def test_the_log_says_whose_token_asked(
    served: Use[None], caplog: pytest.LogCaptureFixture
) -> None:
    async def used(server: Server) -> None:
        caplog.set_level(logging.INFO, "palimpsest.server.gate")
        await server.ask("GET", "/v1/owners/ada/memories", name="grace")
        await server.ask("GET", "/v1/owners/ada/memories", name=None)

    served(used)
    lines = [record.getMessage() for record in caplog.records]
    asked = [line for line in lines if line.startswith("GET /v1/owners/{owner}/memories ")]
    assert [line.rpartition(" ")[2] for line in asked] == ["grace"], lines
    assert [line.rpartition(" ")[2] for line in lines if " 401 " in line] == ["-"]


def test_no_text_is_in_any_log(served: Use[None], caplog: pytest.LogCaptureFixture) -> None:
    marker = "rhinoceros"

    async def used(server: Server) -> None:
        caplog.set_level(logging.DEBUG)
        memory, decision = await joined(server)
        for operation, path in paths("ada", memory):
            body = requests(memory, decision).get(operation.name)
            await server.ask(operation.method, path, body, name="root")
            await server.ask(operation.method, f"{path}?q={marker}", {marker: marker}, name="root")
        async with mcp_client(server) as agent:
            said = {"text": TEXT, "query": marker, "memory_id": memory, "id": decision}
            answers = ""
            for tool in tools_of("agent").values():
                taken = tool.input_schema["properties"]
                some = {name: value for name, value in said.items() if name in taken}
                answers += str(await agent.call_tool(tool.name, some))
                await agent.call_tool(tool.name, {marker: marker})
            assert marker in answers
        for path in ("memories/add", "memories/search", "memories"):
            body = {"messages": TEXT, "query": marker, "filters": {"user_id": "ada", marker: 1}}
            body["user_id"] = "ada"
            await server.ask("POST", f"/mem0/v3/{path}/?q={marker}", body)
            await server.ask("POST", f"/mem0/v3/{path}/", {marker: marker})
        broken = b'{"text": "rhinoceros'
        async with server.client() as client:
            headers = {"content-type": "application/json", "x-marker": marker}
            await client.post("/v1/owners/ada/memories", content=broken, headers=headers)
            await client.get(f"/v1/{marker}")

        def fail(*_: object) -> None:
            raise RuntimeError(f"a bug that quotes the {marker}")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server.twin.store.writer, "ask", fail)
            dry = {"decision_id": decision, "dry_run": True}
            failed = await server.ask("POST", "/v1/owners/ada/unmerge", dry)
        assert failed.status_code == 500
        assert marker not in failed.text

    served(used)
    lines = [PrivateFormatter(FORM).format(record) for record in caplog.records]
    ours = [line for line in lines if " palimpsest." in line]
    assert any("POST /v1/owners/{owner}/memories 200" in line for line in ours)
    assert any("RuntimeError" in line for line in ours)
    theirs = (
        " httpx2",
        *(f" {name}." for name in SILENT),
    )  # the client's own loggers, and those that `serve` silences
    assert not [
        line for line in lines if marker in line and not any(name in line for name in theirs)
    ]
    assert not [line for line in ours if "/ada" in line or "?" in line]


@pytest.mark.parametrize(
    ("written", "fits"),
    [("x" * 16, True), ("x" * 15, False), ("ä" * 16, False), ("x\n" * 8, False)],
)
def test_a_secret_has_sixteen_characters_that_can_be_printed(
    written: str, fits: bool, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[[token]]\nname = "a"\nsecret = {json.dumps(written)}\nowners = "ada"\n')
    with nullcontext() if fits else pytest.raises(UsageError, match="16 or more characters"):
        assert read_tokens(file)


def test_a_file_of_tokens_is_read_and_a_wrong_one_is_reported_without_its_secrets(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(
        '[[token]]\nname = "a"\nsecret = "sixteen-or-more-characters"\nowners = "ada"\n'
        'role = "reviewer"\nexpires = 2030-01-01T00:00:00Z\n'
    )
    [found] = read_tokens(file)
    assert (found.name, found.role, found.owners) == ("a", "reviewer", "ada")
    assert "sixteen" not in repr(found)
    for wrong in (
        "",
        "no toml",
        '[[token]]\nname = "a"\nsecret = "short-secret"\nowners = "ada"\n',
        '[[token]]\nname = "a"\nsecret = "short-secret-no-more"\nowners = "("\n',
        '[[token]]\nname = "a"\nsecret = "short-secret-no-more"\n',
        '[[token]]\nname = "a"\nsecret = "short-secret-no-more"\nowners = "a"\nrole = "king"\n',
    ):
        file.write_text(wrong)
        with pytest.raises(UsageError) as answers_to:
            read_tokens(file)
        assert "short-secret" not in str(answers_to.value)
    with pytest.raises(UsageError):
        read_tokens(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            '[[token]]\nname = "a"\nsecret = "short"\nowners = "ada"\n',
            "token.0.secret: should be 16",
        ),
        ('[[tokens]]\nname = "a"\n', "token: it is missing; tokens: there is no such key"),
        ("token = []\n", "token: lists no token"),
    ],
)
def test_a_wrong_file_of_tokens_is_told_once_for_each_mistake(
    written: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(written)
    with pytest.raises(UsageError) as refused:
        read_tokens(file)
    assert str(refused.value).startswith(f"{file}: {told}")
    assert str(refused.value).count("; ") == told.count("; ")


def test_other_machines_need_tokens_and_a_name() -> None:
    mine, others = ("127.0.0.1", "::1", "localhost", "LocalHost"), ("0.0.0.0", "::", "example")
    assert [one for one in (*mine, *others) if is_loopback(one)] == [*mine]
    require_safe(ServeSettings())
    for wrong in (
        ServeSettings(host="0.0.0.0"),
        ServeSettings(host="0.0.0.0", tokens=TOKENS),
        ServeSettings(host="memory.example", allowed_hosts=("memory.example",)),
    ):
        with pytest.raises(UsageError):
            require_safe(wrong)
    require_safe(ServeSettings(host="0.0.0.0", tokens=TOKENS, allowed_hosts=("memory.example",)))
    with pytest.raises(UsageError, match="same name"):
        ServeSettings(tokens=(*TOKENS, TOKENS[0])).all_tokens()


def test_the_store_is_one_for_all_tokens(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path / "store") as server:
            await server.add("Ada has a secret", "ada")
            await server.add("Bob has none", "bob")
            for owner, face in (("ada", "Ada has a secret"), ("bob", "Bob has none")):
                path = f"/v1/owners/{owner}/memories/search"
                found = await server.ask("POST", path, {"query": "secret", "k": 9}, name=owner)
                assert [memory["face"] for memory in found.json()["memories"]] == [face]

    asyncio.run(run())


def test_an_agent_sees_a_text_that_was_forgotten_and_is_composed_again(served: Use[None]) -> None:
    """Its repeat stays forgotten; the candidates that it was composed of are back."""
    both = f"{OTHER}, and paints the gate"

    async def used(server: Server) -> None:
        sources = [await server.add(one) for one in (OTHER, f"{OTHER} and the gate")]
        older, newer = (source["candidate_id"] for source in sources)
        verdict = Verdict(neighbour_id=older, answer="compose")
        request = SettleRequest(
            request_id=request_id(), candidate_id=newer, verdicts=(verdict,), composed=both
        )
        await server.twin.settle([request])
        memory_id = (await server.add(both))["memory_id"]
        await server.twin.forget(memory_id, again="allow", owner_id="ada")
        for one in (older, newer):
            await server.twin.restore(Selection(candidate_id=one))
        shown = await server.ask("GET", f"/v1/owners/ada/memories/{memory_id}")
        assert shown.json()["face"] == both

    served(used)


def test_an_agent_sees_no_forgotten_text(served: Use[None]) -> None:
    """Whatever it asks, even if a part of what was forgotten is back."""

    async def used(server: Server) -> None:
        first = await server.add("The rhinoceros is a secret")
        update = {"text": "The rhinoceros is in the yard"}
        path = f"/v1/owners/ada/memories/{first['memory_id']}"
        changed = await server.ask("PATCH", path, update)
        await server.twin.forget(first["memory_id"], again="ask", owner_id="ada")
        asked: list[tuple[str, str, dict[str, Any] | None]] = [
            ("GET", path, None),
            ("GET", f"{path}/joins", None),
            ("GET", f"/v1/owners/ada/why/{first['memory_id']}", None),
            ("GET", f"{path}/history", None),
            ("POST", "/v1/owners/ada/memories/check", {"text": "A rhinoceros is a secret"}),
            ("POST", "/v1/owners/ada/memories/find", {"query": "secret"}),
            ("POST", "/v1/owners/ada/unmerge", {"memory_id": first["memory_id"], "dry_run": True}),
            ("POST", "/v1/owners/ada/undo", {"id": first["memory_id"], "dry_run": True}),
        ]
        for shown in asked[:3]:
            statuses = [
                (await server.ask(*shown, name=one)).status_code for one in ("ada", "grace")
            ]
            assert statuses == [404, 200], shown

        async def answers_to(name: str) -> list[str]:
            answers = [await server.ask(*one, name=name) for one in asked]
            return [answer.text for answer in answers]

        assert not any("The rhinoceros" in text for text in await answers_to("ada"))
        assert sum("The rhinoceros is a secret" in text for text in await answers_to("grace")) >= 5
        back = Selection(candidate_id=changed.json()["candidate_id"])
        await server.twin.restore(back)
        assert not any("is a secret" in text for text in (await answers_to("ada"))[:3])
        assert any("in the yard" in text for text in await answers_to("ada"))

    served(used)


def written(file: Path, *tokens: tuple[str, str, str]) -> None:
    """Write a file of tokens: name, secret and owners of each."""
    file.write_text(
        "".join(
            f'[[token]]\nname = "{name}"\nsecret = "{value}"\nowners = "{owners}"\n'
            for name, value, owners in tokens
        )
    )


def test_two_tokens_with_one_secret_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    written(file, ("a", "0123456789abcdef", "ada"), ("b", "0123456789abcdef", "bob"))
    with pytest.raises(UsageError, match="'a' and 'b' have the same secret") as raised:
        ServeSettings(tokens_file=file).all_tokens()
    assert "0123456789abcdef" not in str(raised.value)
    written(file, ("b", f"{secret('a')} ", "bob"))
    both = ServeSettings(tokens_file=file, tokens=(token("a", "ada"),))
    with pytest.raises(UsageError, match="same secret"):
        both.all_tokens()


def test_a_changed_file_of_tokens_is_read_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens.toml"
    old, other, new = "o" * 16, "p" * 16, "n" * 16
    written(file, ("ada", old, "ada"), ("bob", other, "bob"))
    settings = ServeSettings(tokens_file=file)

    async def run() -> None:
        async with await AsyncPalimpsest.open(tmp_path / "store") as twin:
            app = App(twin, settings.all_tokens(), ["localhost"], watch=TokenWatch(settings))
            app.ready = True
            session = app.sessions.begin(app.authenticator.known(old)[0])
            staying = app.sessions.begin(app.authenticator.known(other)[0])
            async with app.running():
                server = Server(app, twin)

                async def status(value: str, owner: str) -> int:
                    async with server.client(None, authorization=f"Bearer {value}") as client:
                        answer = await client.get(f"/v1/owners/{owner}/memories")
                        return int(answer.status_code)

                assert await status(old, "ada") == 200
                written(file, ("ada", new, "ada"), ("bob", other, "bob"))
                assert [await status(old, "ada"), await status(new, "ada")] == [401, 200]
                cookies = [
                    Headers({"cookie": f"palimpsest_review_web={one.secret}"})
                    for one in (session, staying)
                ]
                assert [app.sessions.find(one) is None for one in cookies] == [True, False]
                file.write_text("[[token]]\nname = 1")
                assert [await status(new, "ada"), await status(other, "bob")] == [200, 200]
                file.unlink()
                assert await status(new, "ada") == 200

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert len([record for record in caplog.records if "stay as they were" in record.message]) == 2
    assert new not in caplog.text
