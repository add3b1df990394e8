"""Over HTTP and MCP, `undo` and `redo` take the id of anything that was done (docs/undo.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from palimpsest import RefusedError
from palimpsest.server.mcp.next_steps import BY_PERSON
from tests.palimpsest.server.conftest import Server, Use, serving, token
from tests.palimpsest.server.test_mcp import call, client, prose

ADA = "/v1/owners/ada"
UNDO, REDO = f"{ADA}/undo", f"{ADA}/redo"
TEXTS = ("Ada rows a boat", "Ada paints walls", "Ada sings in a choir", "Ada keeps bees")


async def told(server: Server) -> list[tuple[str, str, int]]:
    """The visible state of ada's memories."""
    page = (await server.twin.list("ada", former=True))["memories"]
    return sorted((one["memory_id"], one["face"], len(one["members"])) for one in page)


async def said(server: Server, path: str, body: Any, **how: Any) -> dict[str, Any]:
    """The answer to a person's request."""
    answer = await server.ask("POST", path, body, **{"name": "grace", **how})
    assert answer.is_success, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def stocked(server: Server) -> list[str]:
    """Give ada four memories, of which a person has merged the last two."""
    ids = [str((await server.add(text))["candidate_id"]) for text in TEXTS]
    await said(server, f"{ADA}/merge", {"a": ids[2], "b": ids[3]})
    return ids


@pytest.mark.parametrize("path", [UNDO, REDO])
def test_an_unknown_id_under_a_key_gets_the_same_answer_again(served: Use[None], path: str) -> None:
    async def used(server: Server) -> None:
        body = {"id": "b7bb145c-fd98-4871-a7ca-6a348e906328"}
        key = {"Idempotency-Key": "nothing has it"}
        first, again = [await server.ask("POST", path, body, headers=key) for _ in range(2)]
        assert (first.status_code, first.json()["title"]) == (404, "There is nothing here")
        assert (again.status_code, again.json()) == (first.status_code, first.json())

    served(used)


@pytest.mark.parametrize("act", ["merge", "separate", "unmerge", "reverse", "retract"])
def test_a_persons_act_is_undone_by_the_id_in_its_answer(served: Use[None], act: str) -> None:
    async def used(server: Server) -> None:
        ids = await stocked(server)
        bodies: dict[str, Any] = {
            "merge": {"a": ids[0], "b": ids[1]},
            "separate": {"a": ids[0], "b": ids[1]},
            "unmerge": {"candidate_id": ids[3]},
            "reverse": {"selection": {"candidate_id": ids[3]}},
            "retract": {"selection": {"candidate_id": ids[0]}},
        }
        was = await told(server)
        done = await said(server, f"{ADA}/{act}", bodies[act])
        body = {"id": done["undo"]}
        agents = await server.ask("POST", UNDO, body)
        reason = "separated" if act in ("unmerge", "reverse") else "outranked"
        assert (agents.status_code, agents.json()["reason"]) == (409, reason)
        strange = await server.ask("POST", "/v1/owners/bob/undo", body, name="grace")
        assert strange.status_code == 404
        before = await told(server)
        shown = await said(server, UNDO, {**body, "dry_run": True})
        assert await told(server) == before
        stale = await server.ask("POST", UNDO, {**body, "token": "0" * 32}, name="grace")
        assert (stale.status_code, stale.json()["reason"]) == (409, "moved_on")
        assert "the token is another's" in stale.json()["detail"]
        key = {"Idempotency-Key": "one undo"}
        with_token = {**body, "token": shown["token"], "because": "a slip"}
        first, again = [
            await said(server, UNDO, with_token, headers=key, name="grace") for _ in range(2)
        ]
        assert again == first
        assert await told(server) == was
        refused = await server.ask("POST", UNDO, body, headers=key, name="grace")
        assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")
        if act != "separate":
            await said(server, UNDO, {"id": first["undo"]})
            assert await told(server) == before

    served(used)


def test_an_agents_change_is_undone_done_again_and_undone(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        ids = await stocked(server)
        path = f"{ADA}/memories/{ids[0]}"
        was = await told(server)
        changed = (await server.ask("PATCH", path, {"text": "Ada sails"})).json()
        now = await told(server)
        for number, (where, wanted) in enumerate(((UNDO, was), (REDO, now), (UNDO, was))):
            key = {"Idempotency-Key": str(number)}
            body = {"id": changed["undo"]}
            first, again = [await server.ask("POST", where, body, headers=key) for _ in range(2)]
            assert first.status_code == 200, first.text
            assert again.json() == first.json()
            assert await told(server) == wanted
        gone = (await server.ask("DELETE", path)).json()
        back = await server.ask("POST", UNDO, {"id": gone["undo"]})
        assert back.json()["restored"] == [ids[0]]
        assert "undo" not in back.json(), "only a person may hide it again by that id"
        assert await told(server) == was

    served(used)


PERSONS = "a person stated this, and only a person can take it back"
ANOTHERS = "another agent forgot it: only that one or a person can bring it back"


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        ("separate", PERSONS),
        ("retract", PERSONS),
        ("forget", PERSONS),
        ("merge", "a person said that the two are the same"),
        ("another's", ANOTHERS),
    ],
)
def test_an_agent_is_told_why_it_may_not_undo_what_others_did(
    act: str, sentence: str, tmp_path: Path
) -> None:
    """The same sentence in Python, over HTTP and over MCP, and to do nothing but tell the user."""

    async def run() -> None:
        others = (token("ada", "ada"), token("eve", "ada"), token("grace", "ada", "reviewer"))
        async with serving(tmp_path / "store", others) as server:
            ids = [str((await server.add(text))["candidate_id"]) for text in TEXTS]
            done = await done_by(server, act, ids)
            before = await told(server)
            handle = await server.twin.call(lambda store: store.agent("ada", actor="ada"))
            with pytest.raises(RefusedError) as refused:
                await server.twin.call(lambda _store: handle.undo(done))
            assert (refused.value.reason, refused.value.detail) == ("outranked", sentence)
            answer = await server.ask("POST", UNDO, {"id": done})
            assert answer.status_code == 409
            assert (answer.json()["reason"], answer.json()["detail"]) == ("outranked", sentence)
            async with client(server) as made:
                result = await made.call_tool("undo", {"id": done})
            assert result.is_error
            assert prose(result) == f"{sentence}; next: {BY_PERSON}"
            assert await told(server) == before

    asyncio.run(run())


async def done_by(server: Server, act: str, ids: list[str]) -> str:
    """Let a person, or another agent, do something; returns the id to undo it by."""
    if act in ("forget", "another's"):
        by = "grace" if act == "forget" else "eve"
        gone = await server.ask("DELETE", f"{ADA}/memories/{ids[0]}", name=by)
        return str(gone.json()["undo"])
    pair = {"a": ids[0], "b": ids[1]}
    body = {"selection": {"candidate_id": ids[0]}} if act == "retract" else pair
    return str((await said(server, f"{ADA}/{act}", body))["undo"])


@pytest.mark.parametrize("where", [UNDO, REDO])
def test_an_unknown_id_is_not_found(served: Use[None], where: str) -> None:
    async def used(server: Server) -> None:
        bobs = (await server.add("Bob swims", "bob"))["decision_id"]
        for unknown in ("no id", "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22", "5d1c7a52", bobs):
            answer = await server.ask("POST", where, {"id": unknown}, name="grace")
            assert answer.status_code == 404, unknown

    served(used)


def test_redo_over_mcp_shows_first_and_does_what_was_shown(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada rows a boat")
        decision = (await server.add("Ada rows a boat."))["decision_id"]
        joined = await told(server)
        async with client(server) as made:
            shown = await call(made, "undo", id=decision[:8])
            await call(made, "undo", id=decision[:8], token=shown["token"])
            assert len(await told(server)) == 2
            shown = await call(made, "redo", id=decision[:8])
            assert (shown["done"], len(await told(server))) == (False, 2)
            done = await call(made, "redo", id=decision[:8], token=shown["token"])
            assert done["done"]
            assert await told(server) == joined

    served(used)
