"""The same wrong call says the same at every door: what is wrong, where, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from urllib.parse import quote

from typer.testing import CliRunner

from palimpsest import InvalidInputError, JoinSelection, Palimpsest, RefusedError, Selection
from palimpsest.cli.main import app
from palimpsest.contracts.errors import PalimpsestError, no_such_id
from palimpsest.contracts.model import NOT_UNICODE
from palimpsest.server.http.operations import FIELD_IN_PATH, over_http
from palimpsest.server.operations import OPERATIONS, Operation
from palimpsest.streams.cluster import records
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.server.test_mcp import client, prose

UNKNOWN = "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"
BLANK = " "
HALF = "cut \ud83d"
TABLE = {operation.name: operation for operation in OPERATIONS}


@dataclass(frozen=True)
class Call:
    """An operation with one field, `wrong`, that gets a wrong value at each door.

    `given` are its other fields over HTTP and MCP. `command` and the arguments of `python` have the
    wrong value in place of None.
    """

    operation: str
    wrong: str
    method: str
    python: Callable[[Any], Mapping[str, Any]]
    command: Callable[[Any], list[str]]
    given: Mapping[str, Any]
    option: str | None = None

    @property
    def id(self) -> str:
        return f"{self.operation}.{self.wrong}"


def named(
    operation: str,
    wrong: str,
    argument: str,
    *command: str,
    method: str | None = None,
    by: bool = False,
    given: Mapping[str, Any] | None = None,
    **more: Any,
) -> Call:
    """A call whose wrong value is one argument in Python, and `?` in the command."""
    words = list(command)
    named = {"by": "person"} if by else {}
    return Call(
        operation,
        wrong,
        method or words[0],
        lambda value: {**more, **named, argument: value},
        lambda value: [value if word == "?" else word for word in words],
        given or {},
    )


def selected(operation: str, method: str, kind: type[Selection]) -> Call:
    """A call about a selection, whose candidate is wrong."""
    command = {"reinstate_many": "reinstate"}.get(operation, operation)
    return Call(
        operation,
        "candidate_id",
        method,
        lambda value: {"selection": kind(candidate_id=value)},
        lambda value: [command, "--candidate", value],
        {},
        option="candidate",
    )


OF_IDS = (
    named("get_memory", "memory_id", "memory_id", "get", "?"),
    named("show_history", "memory_id", "memory_id", "history", "?"),
    named("show_memory", "memory_id", "memory_id", "show", "?"),
    named("explain", "some_id", "some_id", "why", "?"),
    named(
        "explain_pair", "other_id", "b", "why", "ID", "?", method="why_not", a="ID",
        given={"some_id": "ID"},
    ),
    named(
        "update_memory", "memory_id", "memory_id", "update", "?", "Ada rows", text="Ada rows",
        given={"text": "Ada rows"}, by=True,
    ),
    named("forget_memory", "memory_id", "what", "forget", "?", by=True),
    named(
        "forget_found_memories", "memory_ids", "what", "forget", "?", "--expect", "t", expect="t",
        given={"token": "t"}, by=True,
    ),
    named("undo", "id", "some_id", "undo", "?", by=True),
    named("redo", "id", "some_id", "redo", "?", by=True),
    named("unmerge", "decision_id", "decision_id", "unmerge", "--decision", "?", by=True),
    named("reinstate", "decision_id", "decision_id", "reinstate", "?", by=True),
    named("merge", "b", "b", "merge", "ID", "?", a="ID", given={"a": "ID"}),
    named("separate", "b", "b", "separate", "ID", "?", a="ID", given={"a": "ID"}),
    named("withdraw", "b", "b", "withdraw", "ID", "?", a="ID", given={"a": "ID"}),
    named("pin", "id", "memory_id", "pin", "?"),
    named(
        "renew", "candidate_id", "candidate_id", "renew", "?", "2999-01-01",
        expires_at="2999-01-01", given={"expires_at": "2999-01-01"},
    ),
    named("confirm", "decision_id", "decision_id", "confirm", "?"),
    named("restore", "forgotten", "forgotten", "restore", "--forgotten", "?"),
    selected("reverse", "reverse", JoinSelection),
    selected("reinstate_many", "reinstate_many", JoinSelection),
    selected("retract", "retract", Selection),
)  # fmt: skip
OF_TEXTS = (
    Call(
        "add_memory", "text", "submit",
        lambda value: {"candidates": [{"owner_id": "ada", "text": value}]},
        lambda value: ["--json", "add", "ada", value], {},
    ),
    Call(
        "check_memory", "text", "check",
        lambda value: {"candidate": {"owner_id": "ada", "text": value}},
        lambda value: ["check", "ada", value], {},
    ),
    named("search_memories", "query", "query", "recall", "ada", "?", owner_id="ada"),
    named("find_memories", "query", "query", "find", "ada", "?", owner_id="ada"),
    named(
        "update_memory", "text", "text", "update", "ID", "?", memory_id="ID",
        given={"memory_id": "ID"}, by=True,
    ),
    named(
        "end_session", "session_id", "session_id", "session", "end", "?", "--owner", "ada",
        method="end_session", owner_id="ada",
    ),
    named(
        "compact_session", "session_id", "session_id", "session", "compacted", "?", "--owner",
        "ada", method="compact_session", owner_id="ada",
    ),
    Call(
        "set_names", "names", "set_names", lambda value: {"owner_id": "ada", "names": [value, "I"]},
        lambda value: ["names", "ada", value, "I"], {},
    ),
    named(
        "list_some_memories", "namespace", "namespace", "list", "ada", "--namespace", "?",
        owner_id="ada",
    ),
)  # fmt: skip
LEAST, MOST = "should be greater than or equal to", "should be less than or equal to"
QUERY = {"query": "q"}
OF_SEARCHES = tuple(
    (
        named(
            operation, wrong, wrong, command, "ada", "q", f"--{option or wrong.replace('_', '-')}",
            "?", owner_id="ada", query="q", given=QUERY,
        ),
        kind,
        value,
        rule,
    )
    for operation, command, wrong, option, kind, value, rule in (
        ("search_memories", "recall", "k", "limit", "integer", 0, f"{LEAST} 1"),
        ("search_memories", "recall", "min_score", None, "number", 2, f"{MOST} 1"),
        ("search_memories", "recall", "min_confidence", None, "number", -1, f"{LEAST} 0"),
        ("search_memories", "recall", "max_tokens", None, "integer", 0, f"{LEAST} 1"),
        ("find_memories", "find", "k", "limit", "integer", 0, f"{LEAST} 1"),
    )
)  # fmt: skip
OF_LISTS = tuple(
    (
        named(
            operation, wrong, wrong, command, "ada", f"--{wrong.replace('_', '-')}", "?",
            owner_id="ada",
        ),
        kind,
        value,
        rule,
    )
    for operation, command, wrong, kind, value, rule in (
        ("list_memories", "list", "limit", "integer", 0, f"{LEAST} 1"),
        ("list_some_memories", "list", "limit", "integer", 10_000, MOST),
        ("list_triangles", "triangles", "at_least", "number", 2, f"{MOST} 1"),
        ("list_triangles", "triangles", "limit", "integer", 0, f"{LEAST} 1"),
    )
)  # fmt: skip
OF_NUMBERS = (*OF_SEARCHES, *OF_LISTS)
"""For each number: its call, its kind, a value out of range and what is said of that."""
ELSEWHERE_NUMBERS = {
    "as_of": "a position or a time",
    "confidence": "a field of memories: at the command line they come in files",
    "importance": "likewise",
    "intensity": "likewise",
    "ttl": "likewise",
}
"""Numbers that have no call here, and why."""
ELSEWHERE = {
    "add_memories": "the memories of `add_memory`",
    "add_messages": "conversations have tests of their own (test_messages.py)",
    "forget_all_memories": "it takes a token alone, at two doors",
    "names": "it takes nothing",
}
"""Operations that have no call here, and why."""


def test_every_operation_has_a_wrong_call() -> None:
    tried = {call.operation for call in (*OF_IDS, *OF_TEXTS, *(call for call, *_ in OF_NUMBERS))}
    assert tried | ELSEWHERE.keys() == TABLE.keys()
    assert not tried & ELSEWHERE.keys()


@dataclass(frozen=True)
class Told:
    """What a door said: its words, and whether they are about an unknown id or a wrong value."""

    door: str
    words: str
    unknown: bool


class Doors:
    """A store in Python and at the command line, and a server's with the same memory."""

    def __init__(self, store: Palimpsest, server: Server, folder: Path) -> None:
        self._store = store
        self._server = server
        self._folder = folder
        [outcome] = store.submit({"owner_id": "ada", "text": "Ada skis", "id": "1"}, source="same")
        self._here = str(outcome.candidate_id)
        self._there = ""

    async def add(self) -> None:
        self._there = (await self._server.add("Ada skis"))["memory_id"]

    async def told(self, call: Call, value: Any, person: Any) -> list[Told]:
        """What each door says to a call with a wrong value."""
        operation = TABLE[call.operation]
        told = self.told_here(call, value)
        told.append(await self._http(operation, call, value))
        if operation.tool is not None:
            told.append(await self._mcp(operation.tool, call, value, person))
        return told

    def told_here(self, call: Call, value: Any) -> list[Told]:
        """What is said in Python and at the command line."""
        return [self._python(call, value), self._command(call, value)]

    def _python(self, call: Call, value: Any) -> Told:
        try:
            given = _with_id(call.python(value), self._here)
            getattr(self._store, call.method)(**given)
        except RefusedError as error:
            return Told("python", error.detail, error.reason.startswith("unknown_"))
        except InvalidInputError as error:
            return Told("python", error.detail, unknown=False)
        except PalimpsestError as error:
            return Told("python", str(error), unknown=False)
        raise AssertionError(f"{call.id} was carried out in Python")

    def _command(self, call: Call, value: Any) -> Told:
        words = [self._here if word == "ID" else word for word in call.command(str(value))]
        ran = CliRunner().invoke(app, ["--store", str(self._folder), *words])
        assert ran.exit_code in (1, 2, 3), (call.id, ran.output)
        said = re.sub(r"[│ ]*\n[│ ]*", " ", f"{ran.stderr} {ran.stdout}")
        return Told("command line", said, unknown=ran.exit_code == 3)

    async def _http(self, operation: Operation, call: Call, value: Any) -> Told:
        http = over_http(operation)
        body = _with_id(_given(call, value), self._there)
        path = http.path.replace("{owner}", "ada")
        for name in re.findall(r"{(\w+)}", path):
            path = path.replace(f"{{{name}}}", quote(str(body.pop(FIELD_IN_PATH.get(name, name)))))
        how: dict[str, Any] = {"params": body} if http.method == "GET" else {}
        document = None if http.method == "GET" else body
        answer = await self._server.ask(http.method, path, document, name="grace", **how)
        assert answer.status_code in (404, 422), (call.id, answer.text)
        problem = answer.json()
        wrong = [f"{error['field']}: {error['rule']}" for error in problem.get("errors", [])]
        return Told("http", "; ".join([problem["detail"], *wrong]), answer.status_code == 404)

    async def _mcp(self, tool: str, call: Call, value: Any, person: Any) -> Told:
        result = await person.call_tool(tool, _with_id(_given(call, value), self._there))
        assert result.is_error, call.id
        unknown = result.structured_content["status"] == 404
        assert "; next: " in prose(result), "a model is told what to do"
        return Told("mcp", prose(result), unknown)


def _given(call: Call, value: Any) -> dict[str, Any]:
    if call.option == "candidate":
        return {"selection": {"candidate_id": value}}
    several = {"memory_ids": [value], "names": [value, "I"]}
    return {**call.given, call.wrong: several.get(call.wrong, value)}


def _with_id(given: Mapping[str, Any], some_id: str) -> dict[str, Any]:
    return {name: some_id if value == "ID" else value for name, value in given.items()}


@asynccontextmanager
async def doors(server: Server, folder: Path) -> AsyncIterator[tuple[Doors, Any]]:
    """All doors, and a person's client over MCP."""
    async with AsyncExitStack() as stack:
        store = stack.enter_context(Palimpsest.open(folder))
        at = Doors(store, server, folder)
        await at.add()
        yield at, await stack.enter_async_context(client(server, name="grace"))


def test_an_unknown_id_is_the_same_at_every_door(served: Use[None], tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        async with doors(server, tmp_path / "own") as (at, person):
            for call in OF_IDS:
                for told in await at.told(call, UNKNOWN, person):
                    said = told.words.replace(f"the id {UNKNOWN}", "this id")
                    assert no_such_id() in said, (call.id, told)
                    assert told.unknown, (call.id, told)
                    assert told.door not in ("http", "mcp") or UNKNOWN not in told.words

    served(used)


def test_a_blank_value_is_the_same_at_every_door(served: Use[None], tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        async with doors(server, tmp_path / "own") as (at, person):
            for call in (*OF_IDS, *OF_TEXTS):
                for told in await at.told(call, BLANK, person):
                    assert "is blank" in told.words, (call.id, told)
                    assert any(name in told.words for name in names_of(call)), (call.id, told)
                    assert not told.unknown, (call.id, told)

    served(used)


def test_half_of_a_surrogate_pair_is_the_same_at_every_door(
    served: Use[None], tmp_path: Path
) -> None:
    """JSON cannot be read beyond it, so the field is unknown over HTTP, MCP and Kafka."""

    async def used(server: Server) -> None:
        async with doors(server, tmp_path / "own") as (at, _):
            for call in (*OF_IDS, *OF_TEXTS):
                for told in at.told_here(call, HALF):
                    words = told.words.replace("\\\\", "\\")  # of JSON
                    assert NOT_UNICODE in words, (call.id, told)
        body = b'{"text": "cut \\ud83d"}'
        for path in ("/v1/owners/ada/memories", "/mcp/ada"):
            kind = {"content-type": "application/json"}
            answer = await server.ask("POST", path, headers=kind, content=body)
            assert answer.json()["detail"] == f"the body {NOT_UNICODE}"
        record: Any = SimpleNamespace(value=body, headers=(), offset=0, partition=0)
        meaning = records.read(record, "memory.candidates", 1).meaning
        assert isinstance(meaning, InvalidInputError)
        assert f"the row {NOT_UNICODE}" in meaning.detail

    served(used)


def names_of(call: Call) -> Iterator[str]:
    """The names under which the doors have the wrong field."""
    yield call.wrong
    yield from call.python("?").keys() - {"by", "owner_id"}
    yield "the id is blank"  # of a command that has one
    if call.option is not None:
        yield f"--{call.option}"


def test_every_number_has_a_wrong_call() -> None:
    numbers = {
        (operation.name, name)
        for operation in OPERATIONS
        for name, field in operation.takes.model_fields.items()
        if is_number(field.annotation) and name not in ELSEWHERE_NUMBERS
    }
    assert {(call.operation, call.wrong) for call, *_ in OF_NUMBERS} == numbers


def is_number(kind: Any) -> bool:
    return kind in (int, float) or any(map(is_number, get_args(kind)))


def test_a_wrong_number_is_the_same_at_every_door(served: Use[None], tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        async with doors(server, tmp_path / "own") as (at, person):
            for call, kind, out_of_range, rule in OF_NUMBERS:
                for value, said in ((out_of_range, rule), ("x", f"should be a valid {kind}")):
                    for told in await at.told(call, value, person):
                        assert said in told.words, (call.id, told)
                        assert "Input" not in told.words, (call.id, told)
                        assert "parse" not in told.words, (call.id, told)
                        names = "k|limit" if call.wrong == "k" else call.wrong.replace("_", ".")
                        assert re.search(names, told.words), (call.id, told)

    served(used)


def test_no_name_is_quoted_by_the_error_about_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        path = "/v1/owners/ada/names"
        for wrong in ("swordfish 7 !", "she"):
            answer = await server.ask("POST", path, {"names": ["Ada", wrong]}, name="grace")
            assert answer.status_code == 422
            assert wrong not in json.dumps(answer.json()["errors"])

    served(used)
