"""The HTTP door: its answers are the store's, in the form that OpenAPI promises."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from palimpsest.contracts.answers import EMBEDDER_DOWN, MODEL_UNUSABLE
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.model import Strict
from palimpsest.server.http import openapi
from palimpsest.server.http.operations import Call, HttpOperation
from palimpsest.server.intents import WRITES
from palimpsest.server.operations import OPERATIONS
from palimpsest.server.problems import MEDIA_TYPE, problem_of
from palimpsest.streams.embedder import ServiceUnavailable
from palimpsest.streams.policies import load_policy
from tests.palimpsest.server.conftest import Server, Use, displaced

MEMORIES = "/v1/owners/ada/memories"


def test_a_memory_is_added_found_and_shown(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        first = await server.add("Ada lives in Paris")
        again = await server.add("Ada lives in Paris")
        assert (first["decision"], again["decision"]) == ("stored", "hash_exact")
        await server.add("The cat sleeps", metadata={"room": ["kitchen"]}, topics=["pets"])
        response = await server.ask("POST", f"{MEMORIES}/search", {"query": "Ada lives", "k": 1})
        [memory] = response.json()["memories"]
        assert memory["face"] == "Ada lives in Paris"
        narrow = {"query": "Ada lives", "metadata": {"room": ["kitchen"]}}
        response = await server.ask("POST", f"{MEMORIES}/search", narrow)
        assert [memory["face"] for memory in response.json()["memories"]] == ["The cat sleeps"]
        found = await server.ask("POST", f"{MEMORIES}/find", {"query": "cat", "by": ["words"]})
        assert [hit["face"] for hit in found.json()["hits"]] == ["The cat sleeps"]
        checked = await server.ask("POST", f"{MEMORIES}/check", {"text": "The cat sleeps"})
        assert checked.json()["decision"] == "hash_exact"
        shown = await server.ask("GET", f"{MEMORIES}/{again['candidate_id']}/joins")
        assert shown.json()["memory_id"] == first["memory_id"]
        assert len(shown.json()["members"]) == 2

    served(used)


@pytest.mark.parametrize(
    ("path", "body", "field", "rule"),
    [
        ("", {"text": "tea", "txet": 5}, "txet", "is unknown here"),
        ("", {"text": "tea", "she likes tea": 5}, "", "one of its fields is unknown here"),
        ("/batch", {"memories": [{"text": "tea", "txet": 5}]}, "memories.0.txet", "is unknown"),
        ("/search", {"query": "tea", "min_score": "m"}, "min_score", "or should be 'model'"),
        (
            "/search",
            {"query": "tea", "as_of": "0001-01-01T00:00+14:00"},
            "as_of",
            "or must be a time in",
        ),
        ("/messages", {"messages": [{"content": 3}]}, "messages.0.content", "or should be a valid"),
    ],
    ids=str,
)
def test_an_error_names_the_field_as_the_request_has_it(
    served: Use[None], path: str, body: dict[str, Any], field: str, rule: str
) -> None:
    async def used(server: Server) -> None:
        answer = await server.ask("POST", MEMORIES + path, body, name="root")
        [wrong] = answer.json()["errors"]
        assert (answer.status_code, wrong["field"]) == (422, field)
        assert rule in wrong["rule"]
        assert "she likes" not in answer.text

    served(used)


HUGE = {"metadata": {"inner": [{"n": 2**64}]}}
FROM_2027 = {"selection": {"since": "2027-01-01", "until": "2026-01-01"}}


@pytest.mark.parametrize(
    ("path", "body", "field", "rule"),
    [
        ("/memories", {"text": "tea", **HUGE}, "metadata", "more than 64 bits"),
        ("/memories/batch", {"memories": [{"text": "tea", **HUGE}]}, "memories.0.metadata", "64"),
        ("/memories/search", {"query": "tea", **HUGE}, "metadata", "more than 64 bits"),
        ("/memories/list", HUGE, "metadata", "more than 64 bits"),
        ("/retract", FROM_2027, "selection", "`since` must be before `until`"),
        ("/reverse", FROM_2027, "selection", "`since` must be before `until`"),
        ("/restore", FROM_2027, "selection", "`since` must be before `until`"),
    ],
    ids=str,
)
def test_what_would_change_in_silence_or_match_nothing_is_refused(
    served: Use[None], path: str, body: dict[str, Any], field: str, rule: str
) -> None:
    async def used(server: Server) -> None:
        answer = await server.ask("POST", f"/v1/owners/ada{path}", body, name="root")
        assert answer.status_code == 422, answer.text
        [wrong] = answer.json()["errors"]
        assert wrong["field"] == field
        assert rule in wrong["rule"]

    served(used)


@pytest.mark.parametrize(
    "query", ["limit=1_0", "limit=%2010", "limit=%2B10", "limit=10.5", "after=1_0", "limit="]
)
def test_a_number_in_a_query_is_written_as_in_json(served: Use[None], query: str) -> None:
    async def used(server: Server) -> None:
        for path in ("memories", "decisions", "changes"):
            answer = await server.ask("GET", f"/v1/owners/ada/{path}?{query}", name="root")
            assert answer.status_code in (404, 422), (path, answer.text)
        answer = await server.ask("GET", f"{MEMORIES}?limit=10", name="root")
        assert answer.status_code == 200
        wait = await server.ask("GET", "/v1/owners/ada/changes?wait=0.5e0&limit=1", name="root")
        assert wait.status_code == 200

    served(used)


def test_who_adds_what_has_expired_is_told_that_it_is_hidden(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        past = {"expires_at": "2020-01-01T00:00:00Z", "id": "n-1"}
        for result in ("decided", "known"):
            added = await server.add("Ada skis", **past)
            assert (added["result"], added["decision"]) == (result, "stored")
            assert added["reason"] == "expired"
            assert "show_expired" in added["detail"]
        assert (await server.add("Ada skis"))["reason"] is None
        assert (
            await server.add(
                "Ada skis",
                **past,
            )
        )["reason"] == "expired"

    served(used)


@pytest.mark.parametrize("address", ["/v1/owners/%FF/memories", f"{MEMORIES}?namespace=%C3%28"])
def test_an_address_that_is_not_utf8_is_refused(served: Use[None], address: str) -> None:
    """With their bytes replaced, the owners %FE and %FF would be one."""

    async def used(server: Server) -> None:
        answer = await server.ask("GET", address, name="root")
        assert (answer.status_code, answer.json()["title"]) == (400, "The request cannot be read")
        assert "UTF-8" in answer.json()["detail"]

    served(used)


def test_a_key_makes_a_repeat_of_a_retry_and_refuses_other_content(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        key = {"Idempotency-Key": "k 1"}
        first = await server.ask("POST", MEMORIES, {"text": "Ada skis"}, headers=key)
        again = await server.ask("POST", MEMORIES, {"text": "Ada skis"}, headers=key)
        assert first.json()["result"] == "decided"
        assert again.json() == first.json()
        other = await server.ask("POST", MEMORIES, {"text": "Ada rows"}, headers=key)
        assert other.status_code == 422
        assert other.json()["reason"] == "id_conflict"
        assert (await server.twin.status())["candidates"] == 1

    served(used)


def test_an_unmerge_is_shown_done_once_and_taken_back(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, b = [await server.add(text) for text in ("Ada rows a boat", "Ada paints walls")]
        pair = {"a": a["candidate_id"], "b": b["candidate_id"]}
        joined = await server.ask("POST", "/v1/owners/ada/merge", pair, name="grace")
        decision = {"decision_id": joined.json()["decision_id"]}
        path = "/v1/owners/ada/unmerge"
        dry = await server.ask("POST", path, {**decision, "dry_run": True}, name="grace")
        assert len(dry.json()["memories"]) == 2
        assert (await server.twin.status())["memories"] == 1
        key = {"Idempotency-Key": "undo 1"}
        twice = [server.ask("POST", path, decision, name="grace", headers=key) for _ in range(2)]
        done, again = [await one for one in twice]
        assert done.json()["reversed"] == [decision["decision_id"]]
        assert again.json() == done.json()
        path = "/v1/owners/ada/reinstate"
        back = await server.ask("POST", path, decision, name="grace")
        assert len(back.json()["memories"]) == 1
        refused = await server.ask("POST", path, decision, name="grace")
        assert refused.status_code == 409
        assert refused.json()["reason"]

    served(used)


def test_a_selection_is_reversed_put_back_retracted_and_restored(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        texts = ("Ada plays the cello", "Ada plays an old cello")
        a, b = [await server.add(text) for text in texts]
        pair = {"a": a["candidate_id"], "b": b["candidate_id"]}
        await server.ask("POST", "/v1/owners/ada/merge", pair, name="grace")
        whole = {"selection": {"candidate_id": pair["b"]}}

        async def left_by(operation: str, selection: dict[str, Any]) -> list[int]:
            path = f"/v1/owners/ada/{operation}"
            done = await server.ask("POST", path, selection, name="grace")
            assert done.status_code == 200, done.text
            page = (await server.ask("GET", MEMORIES)).json()["memories"]
            return sorted(len(memory["members"]) for memory in page)

        assert await left_by("reverse", whole) == [1, 1]
        assert await left_by("reinstate-many", whole) == [2]
        assert await left_by("retract", whole) == [1]
        assert await left_by("restore", whole) == [2]

    served(used)


def test_an_unmerge_takes_later_decisions_along_where_it_is_asked_to(served: Use[None]) -> None:
    """The third text was compared only with the face, the second text; without that, the first."""

    async def used(server: Server) -> None:
        await server.twin.set_policy(load_policy("replace-or-merge"))
        words = [chr(ord("a") + n) for n in range(20)]
        texts = [words, [*words[:19], "u"], [*words[:18], "v", "t"]]
        _, second, third = [await server.add(" ".join(text)) for text in texts]
        assert (second["decision"], third["decision"]) == ("superseded", "pending")

        async def sizes(**how: bool) -> list[int]:
            asked = {"decision_id": second["decision_id"], **how}
            answer = await server.ask("POST", "/v1/owners/ada/unmerge", asked)
            return sorted(len(memory["members"]) for memory in answer.json()["memories"])

        assert await sizes(dry_run=True) == [1, 1]
        assert await sizes(dry_run=True, with_consequences=True) == [1, 2]
        assert await sizes(with_consequences=True) == [1, 2]
        shown = await server.ask("GET", f"{MEMORIES}/{third['candidate_id']}")
        assert len(shown.json()["members"]) == 2

    served(used)


def test_a_memory_is_changed_once_by_a_key_and_forgotten(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada works at Google"))["memory_id"]
        path, key = f"{MEMORIES}/{memory}", {"Idempotency-Key": "change 1"}
        said = {"text": "Ada works at Meta", "because": "she said so"}
        dry = await server.ask("PATCH", path, {**said, "dry_run": True})
        assert dry.json()["changed"]
        done, again = [await server.ask("PATCH", path, said, headers=key) for _ in range(2)]
        assert done.json()["decision_id"] == again.json()["decision_id"]
        assert (await server.ask("GET", path)).json()["face"] == "Ada works at Meta"
        page = await server.ask("GET", MEMORIES, params={"limit": 1})
        assert (page.json()["total"], page.json()["next"]) == (1, None)
        back = await server.ask("POST", "/v1/owners/ada/undo", {"id": memory})
        assert back.status_code == 200
        assert (await server.ask("GET", path)).json()["face"] == "Ada works at Google"
        events = (await server.ask("GET", f"{path}/history")).json()["events"]
        assert events[1]["actor"] == "ada"
        assert events[1]["because"] == "she said so"
        gone = await server.ask("DELETE", path)
        assert memory in gone.json()["candidates"]
        assert (await server.ask("GET", path)).status_code == 404
        assert (await server.ask("GET", path, name="grace")).json()["state"] == "retracted"

    served(used)


def test_decisions_come_page_by_page_and_who_waits_gets_the_next(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        path = "/v1/owners/ada/decisions"
        nothing = await server.ask("GET", path)
        assert nothing.json()["decisions"] == []
        for number in range(3):
            await server.add(f"note {number} of {number}")
            await server.add(f"note {number} of {number}", "bob")
        first = (await server.ask("GET", path, params={"limit": 2})).json()
        rest = (await server.ask("GET", path, params={"after": first["next"]})).json()
        assert [len(first["decisions"]), len(rest["decisions"])] == [2, 1]
        waiting = asyncio.ensure_future(
            server.ask("GET", path, params={"after": rest["next"], "wait": 20})
        )
        await asyncio.sleep(0.05)
        await server.add("another", "bob")
        await asyncio.sleep(0.15)
        assert not waiting.done()
        news = await server.add("something else entirely")
        [decision] = (await waiting).json()["decisions"]
        assert decision["candidate_id"] == news["candidate_id"]
        asked = {"after": decision["decision_id"], "wait": 20}
        idle = asyncio.ensure_future(server.ask("GET", path, params=asked))
        await asyncio.sleep(0.05)
        server.app.end()
        async with asyncio.timeout(10):
            assert (await idle).json()["decisions"] == []

    served(used)


def test_what_is_wrong_is_a_problem_without_what_was_sent(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        marker = "hippopotamus"
        wrong: list[tuple[str, str, Any, int]] = [
            ("POST", MEMORIES, {"text": f"{marker}\x00"}, 422),
            ("POST", MEMORIES, {"text": "a", f"a {marker}": marker}, 422),
            ("POST", MEMORIES, {"text": "a", "confidence": marker}, 422),
            ("POST", MEMORIES, [marker], 422),
            ("POST", f"{MEMORIES}/search", {"query": marker, "k": 101}, 422),
            ("POST", f"{MEMORIES}/search", {"query": marker, "k": True}, 422),
            ("POST", f"{MEMORIES}/search", {"query": marker, "fold": "no"}, 422),
            ("GET", f"/v1/owners/ada/decisions?wait={marker}", None, 422),
            ("GET", "/v1/owners/ada/decisions?wait=nan", None, 422),
            ("GET", f"/v1/owners/ada/decisions?a+{marker}=1", None, 422),
            ("GET", "/v1/owners/ada/decisions?wait=1&wait=2", None, 422),
            ("POST", "/v1/owners/ada/unmerge", {"decision_id": "a", "memory_id": "b"}, 422),
            ("POST", "/v1/owners/ada/unmerge", {"decision_id": marker}, 404),
            ("POST", MEMORIES, None, 400),
            ("GET", f"/v1/{marker}", None, 404),
            ("GET", f"{MEMORIES}/", None, 404),
            ("POST", f"{MEMORIES}/batch", {"memories": []}, 422),
            ("PUT", f"{MEMORIES}/search", None, 405),
        ]
        for method, path, document, status in wrong:
            response = await server.ask(method, path, document)
            assert response.status_code == status, (path, response.text)
            assert response.headers["content-type"] == MEDIA_TYPE
            assert response.json()["status"] == status
            assert marker not in response.text
        two = {"decision_id": "a", "memory_id": "b"}
        told = (await server.ask("POST", "/v1/owners/ada/unmerge", two)).json()["errors"]
        rule = "name exactly one of decision_id, candidate_id and memory_id"
        assert told == [{"field": "", "rule": rule}]
        wrong_method = await server.ask("PUT", f"{MEMORIES}/search", None)
        assert wrong_method.headers["allow"] == "POST", "which methods there are"
        for path, allowed in (
            (MEMORIES, "GET, HEAD, POST"),
            (f"{MEMORIES}/{marker}", "DELETE, GET, HEAD, PATCH"),
        ):
            assert (await server.ask("PUT", path, None)).headers["allow"] == allowed
        async with server.client() as client:
            headers = {"content-type": "application/json"}
            broken = await client.post(MEMORIES, content=b'{"text": "hip', headers=headers)
            assert broken.status_code == 400
            deep = b'{"text": "a", "metadata": ' + b'{"a":' * 60 + b"1" + b"}" * 61
            assert (await client.post(MEMORIES, content=deep, headers=headers)).status_code == 400

    served(used)


@pytest.mark.parametrize(
    ("error", "status", "kind", "told"),
    [
        (RefusedError("outranked", "a person said so"), 409, "refused", "a person said so"),
        (UsageError("no such zone"), 422, "invalid", "no such zone"),
        (InvalidInputError("field", "text: is blank"), 422, "invalid", "text: is blank"),
        (TransientError("no writer answers"), 503, "unavailable", "no writer answers"),
        (ServiceUnavailable("no connection"), 503, "unavailable", "no connection"),
        (ModelError("no model"), 502, "model", "no model"),
        (RefusedError(EMBEDDER_DOWN, "no model"), 503, "unavailable", "no model"),
        (RefusedError(MODEL_UNUSABLE, "no model"), 502, "model", "no model"),
        (StoreError("secret"), 503, "unavailable", "the server's log says why"),
        (RuntimeError("secret"), 500, "bug", "the server's log says where"),
    ],
)
def test_errors_are_told_by_their_kinds(
    error: Exception, status: int, kind: str, told: str
) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.kind) == (status, kind)
    assert problem.detail.endswith(told)
    assert "secret" not in str(problem.document())
    passes_by = isinstance(error, TransientError | ServiceUnavailable)
    is_down = isinstance(error, RefusedError) and error.reason == EMBEDDER_DOWN
    assert problem.headers == ({"retry-after": "1"} if passes_by or is_down else {})
    assert problem.document().get("reason") == getattr(error, "reason", None)


def test_a_page_of_decisions_goes_on_where_the_log_is(served: Use[None]) -> None:
    """After the decisions of others."""

    async def used(server: Server) -> None:
        path = "/v1/owners/ada/decisions"
        await server.add("Ada rows a boat")
        await server.add("Bob bakes bread", "bob")
        head = await server.twin.position()
        for query, wanted in (("", head), ("?limit=1", 2), (f"?after={head}", head)):
            found = (await server.ask("GET", f"{path}{query}", name="grace")).json()
            assert found["next"] == wanted, query

    served(used)


def test_a_position_after_the_end_of_the_log_is_refused_by_both_feeds(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada sings")
        for feed in ("decisions", "changes"):
            path = f"/v1/owners/ada/{feed}?after=999"
            refused = await server.ask("GET", path, name="grace")
            assert refused.status_code == 422, refused.text
            assert "begin again at 0" in refused.json()["detail"]

    served(used)


def test_a_key_names_a_batch_as_a_whole_and_no_other_request(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        key = {"Idempotency-Key": "one key"}
        rows = [{"text": "Ada rows a boat"}, {"text": "The cat sleeps", "id": "its own"}]
        path = f"{MEMORIES}/batch"
        first = await server.ask("POST", path, {"memories": rows}, headers=key)
        added = first.json()["memories"]
        assert [one["result"] for one in added] == ["decided", "decided"]
        [undone] = [added[0]["memory_id"]]
        await server.ask("PATCH", f"{MEMORIES}/{undone}", {"text": "Ada sails a boat"})
        position = await server.twin.position()
        again = await server.ask("POST", path, {"memories": rows}, headers=key)
        assert again.json() == first.json()
        another = {"text": "Ada paints the fence"}
        for other in (rows[:1], rows[::-1], [*rows, another], [another], [rows[0], another]):
            refused = await server.ask("POST", path, {"memories": other}, headers=key)
            assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")
        single = await server.ask("POST", MEMORIES, rows[0], headers=key)
        assert (single.status_code, single.json()["reason"]) == (422, "id_conflict")
        memory = f"{MEMORIES}/{added[0]['memory_id']}"
        gone = await server.ask("DELETE", memory, headers=key)
        assert (gone.status_code, gone.json()["reason"]) == (422, "id_conflict")
        assert await server.twin.position() == position
        known = [{"text": "The cat sleeps", "id": "its own"}]
        more = {"Idempotency-Key": "another key"}
        for _ in range(2):
            told = await server.ask("POST", path, {"memories": known}, headers=more)
            assert [memory["result"] for memory in told.json()["memories"]] == ["known"]
        refused = await server.ask("POST", path, {"memories": rows}, headers=more)
        assert refused.status_code == 422

    served(used)


def test_every_path_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "http.md").read_text(encoding="utf-8")
    paths = [operation.path.removeprefix("/v1/owners/{owner}") for operation in OPERATIONS]
    assert [
        path for path in paths if f"…{path}" not in page and f"{{owner}}{path}" not in page
    ] == []


def test_every_write_is_known_by_its_key() -> None:
    assert {operation.write for operation in OPERATIONS} - {None} <= {*WRITES}


def test_a_key_pins_once(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        added = await server.ask("POST", MEMORIES, {"text": "Ada naps", "expires_at": "2999-01-01"})
        memory, key = added.json()["memory_id"], {"Idempotency-Key": "one key"}
        path, pin = "/v1/owners/ada/pin", {"id": memory, "until": "2999-02-01"}
        first = await server.ask("POST", path, pin, name="grace", headers=key)
        again = await server.ask("POST", path, pin, name="grace", headers=key)
        assert (first.status_code, again.json()) == (200, first.json())
        asked: list[tuple[str, Any]] = [
            (path, {**pin, "until": "2999-03-01"}),
            ("/v1/owners/ada/retract", {"selection": {"candidate_id": memory}}),
        ]
        for other, body in asked:
            refused = await server.ask("POST", other, body, name="grace", headers=key)
            assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")

    served(used)


def test_a_key_is_of_one_request_with_one_content(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        one, other = [
            f"{MEMORIES}/{(await server.add(text))['memory_id']}"
            for text in ("Ada rows a boat", "The cat sleeps")
        ]
        key, undo = {"Idempotency-Key": "one key"}, "/v1/owners/ada/undo"
        said = {"text": "Ada sails a boat"}
        first = await server.ask("PATCH", one, said, headers=key)
        position = (await server.twin.status())["position"]
        asked: list[tuple[str, str, Any]] = [
            ("PATCH", one, {"text": "Ada sold the boat"}),
            ("PATCH", one, {**said, "because": "she said so"}),
            ("PATCH", other, said),
            ("DELETE", one, None),
            ("POST", undo, {"id": one.rpartition("/")[2]}),
            ("POST", MEMORIES, {"text": "Ada sails a boat"}),
            ("POST", f"{MEMORIES}/batch", {"memories": [said]}),
        ]
        for method, path, body in asked:
            refused = await server.ask(method, path, body, headers=key)
            assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")
        assert (await server.twin.status())["position"] == position
        await server.ask("PATCH", one, {"text": "Ada sold the boat"})
        again = await server.ask("PATCH", one, said, headers=key)
        assert (again.status_code, again.json()) == (200, first.json())

    served(used)


def test_what_was_refused_is_refused_again_though_it_could_be_by_now(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada rows a boat"))["memory_id"]
        key, path = {"Idempotency-Key": "undo"}, "/v1/owners/ada/undo"
        first = await server.ask("POST", path, {"id": memory}, headers=key)
        assert (first.status_code, first.json()["reason"]) == (409, "no_update")
        await server.ask("PATCH", f"{MEMORIES}/{memory}", {"text": "Ada sails a boat"})
        again = await server.ask("POST", path, {"id": memory}, headers=key)
        assert (again.status_code, again.json()) == (409, first.json())

    served(used)


def test_a_key_is_of_one_owner(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        for owner in ("ada", "bob"):
            memory = (await server.add("The cat sleeps", owner))["memory_id"]
            path = f"/v1/owners/{owner}/memories/{memory}"
            key = {"Idempotency-Key": "one key"}
            gone = await server.ask("DELETE", path, name=owner, headers=key)
            assert gone.json()["candidates"] == [memory]
        assert (await server.twin.status())["memories"] == 0

    served(used)


def test_who_forgets_says_why_and_what_happens_if_it_comes_again(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada speaks Spanish")
        plan = (await server.ask("POST", f"{MEMORIES}/find", {"query": "Spanish"})).json()
        said = {
            "memory_ids": [hit["memory_id"] for hit in plan["hits"]],
            "token": plan["token"],
            "again": "refuse",
            "because": "she asked",
        }
        gone = (await server.ask("POST", f"{MEMORIES}/forget", said)).json()
        again = await server.add("Ada speaks Spanish")
        assert (again["decision"], again["memory_id"]) == ("forgotten", None)
        back = {"forgotten": gone["forgotten"]}
        await server.ask("POST", "/v1/owners/ada/restore", back, name="grace")
        path = f"{MEMORIES}/{said['memory_ids'][0]}"
        refused = await server.ask("DELETE", path, params={"because": "she asked again"})
        assert refused.status_code == 422, "no reason in a URL"
        gone = await server.ask("DELETE", path, {"because": "she asked again"})
        assert gone.is_success
        events = (await server.ask("GET", f"{path}/history", name="grace")).json()["events"]
        reasons = [
            (event["actor"], event["because"]) for event in events if event["event"] == "retracted"
        ]
        assert reasons == [("ada", "she asked"), ("ada", "she asked again")]

    served(used)


def test_all_that_is_forgotten_includes_what_an_update_has_displaced(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await displaced(server)
        shown = await server.ask("POST", f"{MEMORIES}/forget-all", {})
        assert len(shown.json()["candidates"]) == 3
        all_of_it = {"token": shown.json()["token"]}
        gone = await server.ask("POST", f"{MEMORIES}/forget-all", all_of_it)
        assert gone.json()["candidates"] == shown.json()["candidates"]
        assert (await server.twin.list("ada", former=True))["total"] == 0

    served(used)


def test_what_a_person_says_of_a_pair_has_their_name(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, b = [await server.add(text) for text in ("Ada rows a boat", "Ada paints walls")]
        pair = {"a": a["candidate_id"], "b": b["candidate_id"], "because": "I know her"}
        path = "/v1/owners/ada"
        merge = {**pair, "face": b["candidate_id"]}
        joined = (await server.ask("POST", f"{path}/merge", merge, name="grace")).json()
        shown = await server.ask("GET", f"{MEMORIES}/{a['memory_id']}")
        assert shown.json()["face"] == "Ada paints walls"
        decision = {"decision_id": joined["decision_id"], "because": "I am sure"}
        await server.ask("POST", f"{path}/confirm", decision, name="grace")
        undo = {"decision_id": joined["decision_id"], "because": "two hobbies"}
        await server.ask("POST", f"{path}/unmerge", undo, name="grace")
        back = {"decision_id": joined["decision_id"], "because": "one hobby"}
        await server.ask("POST", f"{path}/reinstate", back, name="grace")
        c = await server.add("Ada sings in a choir")
        apart = {**pair, "b": c["candidate_id"]}
        assert (await server.ask("POST", f"{path}/separate", apart, name="grace")).is_success
        rows = await server.twin.sql(
            "SELECT event, actor, because FROM events WHERE event <> 'decided' AND rank = 'person'"
            " ORDER BY position"
        )
        assert [tuple(row.values()) for row in rows] == [
            ("joined", "grace", "I know her"),
            ("confirmed", "grace", "I am sure"),
            ("reversed", "grace", "two hobbies"),
            ("reinstated", "grace", "one hobby"),
            ("separated", "grace", "I know her"),
        ]

    served(used)


def test_why_is_recorded_of_whatever_is_taken_back(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async def said(what: str, body: Any, name: str = "ada") -> Any:
            answer = await server.ask("POST", f"/v1/owners/ada/{what}", body, name=name)
            assert answer.is_success, answer.text
            return answer.json()

        memory = (await server.add("Ada works at Google"))["memory_id"]
        await server.ask("PATCH", f"{MEMORIES}/{memory}", {"text": "Ada works at Meta"})
        await said("undo", {"id": memory, "because": "a slip"})
        shown = await said("memories/forget-all", {"because": "only shown"})
        all_of_it = {"token": shown["token"], "because": "she left"}
        gone = await said("memories/forget-all", all_of_it)
        back = {"forgotten": gone["forgotten"], "because": "she came back"}
        await said("restore", back, name="grace")
        rows = await server.twin.sql(
            "SELECT actor, because FROM events WHERE because IS NOT NULL"
            " GROUP BY ALL ORDER BY min(position)"
        )
        assert [tuple(row.values()) for row in rows] == [
            ("ada", "a slip"),
            ("ada", "she left"),
            ("grace", "she came back"),
        ]

    served(used)


def test_a_compressed_body_is_refused_in_words(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with server.client("ada") as client:
            refused = await client.post(
                MEMORIES,
                content=gzip.compress(b'{"text": "Ada sings"}'),
                headers={"content-type": "application/json", "content-encoding": "gzip"},
            )
        assert (refused.status_code, "compressed" in refused.json()["detail"]) == (400, True)

    served(used)


def test_openapi_says_which_requests_need_what(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        paths = (await server.ask("GET", "/v1/openapi.json")).json()["paths"]
        memories = paths["/v1/owners/{owner}/memories"]

        def headers(operation: Any) -> list[str]:
            return [
                parameter["name"]
                for parameter in operation["parameters"]
                if parameter["in"] == "header"
            ]

        assert (headers(memories["post"]), headers(memories["get"])) == (["Idempotency-Key"], [])
        assert headers(paths["/v1/owners/{owner}/memories/search"]["post"]) == []
        one = paths["/v1/owners/{owner}/memories/{memory}"]
        assert headers(one["delete"]) == headers(one["patch"]) == ["Idempotency-Key", "If-Match"]
        assert memories["post"]["requestBody"]["required"]
        assert not one["delete"]["requestBody"]["required"]
        limit = next(
            parameter for parameter in memories["get"]["parameters"] if parameter["name"] == "limit"
        )
        assert limit["schema"]["default"] == 50
        key = {"Idempotency-Key": "x" * 513}
        assert (await server.ask("GET", MEMORIES, headers=key)).is_success, "it reads alone"
        said = await server.ask("POST", MEMORIES, {"text": "a"}, headers=key)
        assert said.status_code == 422

    served(used)


def test_openapi_says_which_parameters_have_to_be_there() -> None:
    class Days(Strict):
        first: str
        count: int = 30

    async def days(_: Call) -> None:
        """Do nothing."""

    described = openapi.document(
        [HttpOperation("days", "GET", "/days/{zone}", "Days.", bool, days, query=Days)]
    )
    parameters = described["paths"]["/days/{zone}"]["get"]["parameters"]
    assert [
        (parameter["name"], parameter["in"], parameter["required"]) for parameter in parameters
    ] == [
        ("zone", "path", True),
        ("first", "query", True),
        ("count", "query", False),
    ]


def test_why_and_triangles_are_explained_to_whoever_may_see_the_owner(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        texts = ("Ada sings in the choir", "Ada sings in the choir.", "Ada rows on the lake")
        first, again, other = [await server.add(text) for text in texts]
        why = f"/v1/owners/ada/why/{again['candidate_id']}"
        placed = (await server.ask("GET", why)).json()
        assert placed == server.twin.store.why(again["candidate_id"])
        assert placed["candidates"][0]["joined_to"] == first["candidate_id"]
        whole = (await server.ask("GET", f"/v1/owners/ada/why/{first['memory_id']}")).json()
        assert len(whole["candidates"]) == 2
        pair = (await server.ask("GET", f"{why}/{other['candidate_id']}")).json()
        assert not pair["together"]
        assert pair["reasons"][0]["reason"] == "below"
        await server.twin.separate(first["candidate_id"], other["candidate_id"])
        pair = (await server.ask("GET", f"{why}/{other['candidate_id']}")).json()
        assert pair["reasons"][0]["reason"] == "separated_beside"
        triangles = "/v1/owners/ada/triangles"
        near = (await server.ask("GET", f"{triangles}?at_least=0&limit=1")).json()
        assert [one["joined"] for one in near] == [again["candidate_id"]]
        assert (await server.ask("GET", triangles)).json() == []
        assert (await server.ask("GET", f"{triangles}?at_least=2")).status_code == 422

        bobs = await server.add("Bob hums", owner="bob")
        alone = f"/v1/owners/ada/why/{bobs['candidate_id']}"
        for path in (alone, f"{why}/{bobs['candidate_id']}", f"{alone}/{first['candidate_id']}"):
            for name in ("ada", "grace"):
                unknown = await server.ask("GET", path, name=name)
                assert (unknown.status_code, "Bob" in unknown.text) == (404, False)
        assert (await server.ask("GET", why, name="bob")).status_code == 403
        assert (await server.ask("GET", triangles, name="bob")).status_code == 403

    served(used)


def test_a_write_that_expects_a_version_is_refused_once_the_memory_has_changed(
    served: Use[None],
) -> None:
    async def used(server: Server) -> None:
        path = f"{MEMORIES}/{(await server.add('Ada works at Google'))['memory_id']}"
        tags = set()
        for what in ("", "/history", "/joins"):
            read = await server.ask("GET", f"{path}{what}")
            assert read.headers["etag"] == f'"{read.json()["version"]}"'
            tags.add(read.headers["etag"])
        [seen] = tags
        mine = {"If-Match": seen}
        changed = await server.ask("PATCH", path, {"text": "Ada works at Meta"}, headers=mine)
        assert changed.is_success
        now, late = (
            changed.json()["version"],
            [
                await server.ask("PATCH", path, {"text": "Ada works at Apple"}, headers=mine),
                await server.ask("DELETE", path, headers=mine),
                await server.ask("DELETE", path, headers={**mine, "Idempotency-Key": "k"}),
                await server.ask("DELETE", path, headers={**mine, "Idempotency-Key": "k"}),
            ],
        )
        assert {one.status_code for one in late} == {412}
        assert {one.json()["reason"] for one in late} == {"moved_on"}
        old = {"expect": seen.strip('"')}
        assert (await server.ask("DELETE", path, params=old)).status_code == 409
        both = await server.ask("DELETE", path, params={"expect": now}, headers=mine)
        assert both.status_code == 422
        for wrong in ("W/" + seen, f"{seen}, {seen}", seen.strip('"')):
            refused = await server.ask("DELETE", path, headers={"If-Match": wrong})
            assert refused.status_code == 400
        undo = {"id": path.rpartition("/")[2]}
        refused = await server.ask("POST", "/v1/owners/ada/undo", undo, headers=mine)
        assert refused.status_code == 400, "it would not be heeded"
        dry = await server.ask("DELETE", path, params={"expect": now, "dry_run": "true"})
        assert len(dry.json()["candidates"]) == 2
        assert (await server.ask("GET", path)).json()["version"] == now
        gone = await server.ask("DELETE", path, headers={"If-Match": f'"{now}"'})
        assert gone.json()["candidates"] == dry.json()["candidates"]
        assert (await server.ask("GET", path)).status_code == 404

    served(used)


def test_with_a_key_a_memory_keeps_the_id_that_it_was_offered_with(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = {"text": "Ada sings", "id": "mine"}
        key = {"idempotency-key": "once"}
        first = await server.ask("POST", MEMORIES, memory, headers=key)
        again = await server.ask("POST", MEMORIES, memory)
        assert (again.json()["result"], again.json()["candidate_id"]) == (
            "known",
            first.json()["candidate_id"],
        )

    served(used)


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-8", "Application/JSON;x=y", "application/merge-patch+json"],
)
def test_json_may_name_more_than_its_kind(served: Use[None], kind: str) -> None:
    async def used(server: Server) -> None:
        async with server.client() as client:
            said = await client.post(
                MEMORIES, content=b'{"text": "Ada sings"}', headers={"content-type": kind}
            )
        assert said.is_success, said.text

    served(used)


def test_a_body_is_as_deep_as_its_metadata_may_be(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        metadata: Any = {}
        for _ in range(31):
            metadata = {"a": metadata}
        memories = [{"text": "Ada sings", "metadata": metadata}]
        said = await server.ask("POST", f"{MEMORIES}/batch", {"memories": memories})
        assert said.json()["memories"][0]["result"] == "decided"
        [shown] = (await server.ask("GET", MEMORIES)).json()["memories"]
        assert shown["metadata"] == metadata
        memories[0]["metadata"] = {"a": metadata}
        refused = await server.ask("POST", f"{MEMORIES}/batch", {"memories": memories})
        assert refused.status_code == 422

    served(used)


def test_answers_are_what_openapi_promises(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        told = (await server.ask("GET", "/v1/openapi.json")).json()
        operations = {
            f"{method.upper()} {path}": operation
            for path, methods in told["paths"].items()
            for method, operation in methods.items()
        }
        routes = {route.path for route in server.app.gate.routes if route.path.startswith("/v1")}
        assert routes - {"/v1/openapi.json"} == set(told["paths"])

        def require(response: Any, operation: str) -> None:
            content = operations[operation]["responses"]["200"]["content"]
            schema = content["application/json"]["schema"]
            whole = {**schema, "components": _without_more(told["components"])}
            jsonschema.Draft202012Validator(whole).validate(response.json())

        base = "/v1/owners/{owner}/memories"
        added = await server.ask("POST", MEMORIES, {"text": "Ada sings"})
        require(added, f"POST {base}")
        many = await server.ask("POST", f"{MEMORIES}/batch", {"memories": [{"text": "Ada hums"}]})
        require(many, f"POST {base}/batch")
        require(await server.ask("POST", f"{MEMORIES}/find", {"query": "Ada"}), f"POST {base}/find")
        asked = await server.ask("POST", f"{MEMORIES}/search", {"query": "Ada"})
        require(asked, f"POST {base}/search")
        one = f"{MEMORIES}/{added.json()['memory_id']}"
        for what in ("", "/history", "/joins"):
            shown = await server.ask("GET", f"{one}{what}")
            require(shown, f"GET {base}/{{memory}}{what}")
            documented = operations[f"GET {base}/{{memory}}{what}"]["responses"]["200"]["headers"]
            assert {name.lower() for name in documented} <= shown.headers.keys()
        owner, own_id = "/v1/owners/{owner}", added.json()["candidate_id"]
        path = f"/v1/owners/ada/why/{own_id}"
        require(await server.ask("GET", path), f"GET {owner}/why/{{some_id}}")
        both = await server.ask("GET", f"{path}/{own_id}")
        require(both, f"GET {owner}/why/{{some_id}}/{{other_id}}")
        require(await server.ask("GET", "/v1/owners/ada/triangles"), f"GET {owner}/triangles")
        require(await server.ask("GET", MEMORIES), f"GET {base}")
        changed = await server.ask("PATCH", one, {"text": "Ada sings no more"})
        require(changed, f"PATCH {base}/{{memory}}")
        name = {"id": changed.json()["decision_id"]}
        dry_run = await server.ask("POST", "/v1/owners/ada/undo", {**name, "dry_run": True})
        require(dry_run, "POST /v1/owners/{owner}/undo")
        undone = await server.ask("POST", "/v1/owners/ada/undo", name)
        require(undone, "POST /v1/owners/{owner}/undo")
        shown = await server.ask("POST", f"{MEMORIES}/forget-all", {})
        require(shown, f"POST {base}/forget-all")
        require(await server.ask("DELETE", one), f"DELETE {base}/{{memory}}")
        checked = await server.ask("POST", f"{MEMORIES}/check", {"text": "Ada sings"})
        require(checked, f"POST {base}/check")
        feed = await server.ask("GET", "/v1/owners/ada/decisions")
        require(feed, "GET /v1/owners/{owner}/decisions")
        problem = await server.ask("GET", "/v1/status")
        default = operations["GET /v1/status"]["responses"]["default"]["content"][MEDIA_TYPE]
        whole = {**default["schema"], "components": told["components"]}
        jsonschema.Draft202012Validator(whole).validate(problem.json())

    served(used)


def _without_more(schema: Any) -> Any:
    """The same schema, which refuses fields that it does not name."""
    match schema:
        case {"properties": dict(fields), **others}:
            closed = {"additionalProperties": False, **others}
            return {
                **closed,
                "properties": {name: _without_more(of) for name, of in fields.items()},
            }
        case dict():
            return {name: _without_more(of) for name, of in schema.items()}
        case list():
            return [*map(_without_more, schema)]
        case _:
            return schema


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = value.values()
    elif not isinstance(value, list):
        return
    for part in value:
        yield from _objects(part)


def test_openapi_is_read_by_generators_in_other_languages(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        told = (await server.ask("GET", "/v1/openapi.json")).json()
        described = [*_objects(told)]
        place = "#/components/schemas/"
        named = {one["$ref"].removeprefix(place) for one in described if "$ref" in one}
        assert named == set(told["components"]["schemas"])  # all are there, and none is idle
        assert [name for name in named if "__" in name] == []  # two classes with one name
        assert [one for one in described if one.get("type") == "array" and "items" not in one] == []
        queries = [one["schema"] for one in described if one.get("in") == "query"]
        assert [one for one in _objects(queries) if one.get("type") == "null"] == []
        assert [one for one in queries if one.get("default", 0) is None] == []
        assert told["servers"] == [{"url": "/"}]

    served(used)


LATER: dict[str, Any] = {
    "namespace": "work",
    "category": "job",
    "session_id": "s 2",
    "occurred_at": "2026-03-01T12:00:00Z",
    "confidence": 0.9,
}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"namespace": "work"}, ["Ada paints walls"]),
        ({"category": "job"}, ["Ada paints walls"]),
        ({"since": "2026-03-01T12:00:00Z"}, ["Ada paints walls"]),
        ({"until": "2026-03-01T12:00:00Z"}, ["Ada rows a boat"]),
        ({"until": "2026-03-01T12:00:01Z", "since": "2026-02-01T00:00:00Z"}, ["Ada paints walls"]),
    ],
)
def test_a_search_and_a_list_are_narrowed_alike(
    served: Use[None], asked: dict[str, str], found: list[str]
) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada rows a boat", occurred_at="2026-01-01T00:00:00Z", confidence=0.5)
        await server.add("Ada paints walls", **LATER)
        searched = await server.ask("POST", f"{MEMORIES}/search", {"query": "Ada", **asked})
        listed = await server.ask("GET", MEMORIES, params=asked)
        some = await server.ask("POST", f"{MEMORIES}/list", asked)
        for one in (searched, listed, some):
            assert [memory["face"] for memory in one.json()["memories"]] == found

    served(used)


def test_a_search_knows_who_asks_and_how_sure_an_answer_has_to_be(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada rows a boat", occurred_at="2026-01-01T00:00:00Z", confidence=0.5)
        await server.add("Ada paints walls", **LATER)

        async def found(**asked: Any) -> list[str]:
            query = {"query": "Ada paints", **asked}
            answer = await server.ask("POST", f"{MEMORIES}/search", query)
            return [memory["face"] for memory in answer.json()["memories"]]

        assert await found() == ["Ada paints walls", "Ada rows a boat"]
        assert await found(min_confidence=0.8) == ["Ada paints walls"]
        assert len(await found(session_id="s 2")) == 2
        assert await found(session_id="s 2", exclude_session=True) == ["Ada rows a boat"]
        for what in ("end", "compacted"):
            key = {"idempotency-key": what}
            session = f"/v1/owners/ada/sessions/{what}", {"session_id": "s 2"}
            for _ in range(2):
                noted = await server.ask("POST", *session, headers=key)
                assert noted.json() == {"session_id": "s 2"}
        assert len(await found(session_id="s 2", exclude_session=True)) == 2
        query = "SELECT event FROM events WHERE event IN ('session_ended', 'compacted') ORDER BY 1"
        events = await server.twin.sql(query)
        assert [event["event"] for event in events] == ["compacted", "session_ended"], "once each"

    served(used)


def test_former_texts_are_shown_where_they_are_asked_for(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada works at Google"))["memory_id"]
        await server.ask("PATCH", f"{MEMORIES}/{memory}", {"text": "Ada works at Meta"})
        query = {"query": "Ada works"}
        for former, wordings in ((False, 1), (True, 2)):
            searched = await server.ask(
                "POST", f"{MEMORIES}/search", {**query, "former": former}, name="grace"
            )
            listed = await server.ask("GET", MEMORIES, params={"former": str(former).lower()})
            for one in (searched, listed):
                [shown] = one.json()["memories"]
                assert (shown["face"], len(shown["members"])) == ("Ada works at Meta", wordings)

    served(used)


def test_what_is_meant_is_found_by_words_and_by_meaning(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada rows a boat")
        await server.add("Ada paints a boat", namespace="work")
        await server.add("Ada paints walls")

        async def found(**asked: Any) -> list[tuple[str, str]]:
            plan = await server.ask("POST", f"{MEMORIES}/find", {"query": "rows", **asked})
            return [(hit["face"], hit["why"]) for hit in plan.json()["hits"]]

        by_words, *by_meaning = await found()
        assert by_words == ("Ada rows a boat", "word")
        assert [why for _, why in by_meaning] == ["cosine", "cosine"]
        assert [why for _, why in await found(k=1)] == ["word", "cosine"]
        assert await found(by=["words"]) == [by_words]
        assert await found(namespace="work") == [("Ada paints a boat", "cosine")]

    served(used)


def test_what_expires_is_hidden_and_only_a_person_pins_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = {"text": "Ada is on the bus", "expires_at": "2026-01-01T00:00:00Z"}
        added = (await server.ask("POST", MEMORIES, said)).json()
        for path, query in (("search", {"query": "bus"}), ("find", {"query": "bus"}), ("list", {})):
            hidden = (await server.ask("POST", f"{MEMORIES}/{path}", query)).json()
            asked = {**query, "show_expired": True}
            shown = (await server.ask("POST", f"{MEMORIES}/{path}", asked)).json()
            counts = [len(one.get("memories", one.get("hits"))) for one in (hidden, shown)]
            assert counts == [0, 1], path
        known = (await server.ask("GET", f"{MEMORIES}/{added['memory_id']}")).json()
        assert known["state"] == "expired"
        pin = {"id": added["memory_id"], "because": "she still is"}
        assert (await server.ask("POST", "/v1/owners/ada/pin", pin)).status_code == 403
        pinned = await server.ask("POST", "/v1/owners/ada/pin", pin, name="grace")
        assert (pinned.status_code, pinned.json()["expires_at"]) == (200, None)
        back = {"id": pinned.json()["event_id"], "dry_run": True}
        passed = {**pin, "until": "2020-01-01"}
        late = await server.ask("POST", "/v1/owners/ada/pin", passed, name="grace")
        assert (late.status_code, "has passed" in late.json()["detail"]) == (422, True)
        refused = await server.ask("POST", "/v1/owners/ada/undo", {"id": back["id"]})
        assert refused.status_code in (403, 409)
        known = (await server.ask("GET", f"{MEMORIES}/{added['memory_id']}")).json()
        assert known["state"] == "living"

    served(used)


def test_an_agent_moves_an_expiry_and_never_sets_or_removes_one(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = {"text": "Ada is on the bus", "expires_at": "2026-01-01T00:00:00Z"}
        bus = (await server.ask("POST", MEMORIES, said)).json()["candidate_id"]
        chess = (await server.add("Ada plays chess"))["candidate_id"]
        path, until = "/v1/owners/ada/renew", "2999-01-01T00:00:00Z"
        renewed = await server.ask("POST", path, {"candidate_id": bus, "expires_at": until})
        assert renewed.status_code == 200
        assert datetime.fromisoformat(renewed.json()["expires_at"]).year == 2999
        undone = await server.ask("POST", "/v1/owners/ada/undo", {"id": renewed.json()["undo"]})
        assert datetime.fromisoformat(undone.json()["expires_at"]).year == 2026
        ever = await server.ask("POST", path, {"candidate_id": chess, "expires_at": until})
        assert (ever.status_code, ever.json()["reason"]) == (409, "outranked")
        never = await server.ask("POST", path, {"candidate_id": bus, "expires_at": None})
        assert never.status_code == 422
        ends = {"text": "Ada is at sea", "expires_at": until}
        sea = (await server.ask("POST", MEMORIES, ends)).json()["candidate_id"]
        passed = {"candidate_id": sea, "expires_at": "2020-01-01T00:00:00Z"}
        late = await server.ask("POST", path, passed)
        assert (late.status_code, "has passed" in late.json()["detail"]) == (422, True)
        assert (await server.ask("GET", f"{MEMORIES}/{sea}")).json()["state"] == "living"
        foreign = {"candidate_id": bus, "expires_at": until}
        assert (await server.ask("POST", "/v1/owners/bob/renew", foreign)).status_code == 403

    served(used)


def test_only_a_person_says_by_which_names_texts_call_an_owner(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        path, names = "/v1/owners/ada/names", ["Ada", "I"]
        assert (await server.ask("POST", path, {"names": names})).status_code == 403
        said = {"names": names, "because": "she said so"}
        called = await server.ask("POST", path, said, name="grace")
        assert (called.status_code, called.json()["names"]) == (200, names)
        assert (await server.ask("GET", path)).json() == {"owner_id": "ada", "names": names}
        twice = await server.ask("POST", path, said, name="grace")
        assert (twice.status_code, twice.json()["reason"]) == (409, "unchanged")
        wrong = await server.ask("POST", path, {"names": ["Ada", "she"]}, name="grace")
        assert (
            wrong.status_code,
            "could be anybody" in wrong.text and "she" not in wrong.text,
        ) == (422, True)

    served(used)
