"""A request for the next decisions waits for the log, and reads no page meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.queries.changes import ChangeFeed
from palimpsest.server.bodies import FedDecision
from palimpsest.server.http import feed
from tests.palimpsest.server.conftest import TOKENS, Server, Use, serving, token
from tests.palimpsest.server.test_mcp import call, client

PATH = "/v1/owners/ada/decisions"


def test_a_page_is_looked_up_again_only_once_the_log_went_on(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[Any] = []
    look_up = feed._page

    def noted(*asked: Any) -> tuple[list[FedDecision], int]:
        pages.append(asked)
        return look_up(*asked)

    async def used(server: Server) -> None:
        await server.add("Ada drinks tea")
        first = (await server.ask("GET", PATH)).json()
        assert len(first["decisions"]) == 1
        monkeypatch.setattr(feed, "_page", noted)
        waited = await server.ask("GET", f"{PATH}?after={first['next']}&wait=0.3")
        assert waited.json() == {"decisions": [], "next": first["next"]}
        assert len(pages) == 1

    served(used)


def test_an_agent_learns_nothing_of_how_much_other_owners_do(tmp_path: Path) -> None:
    """The same requests get the same answers, however much another owner did."""

    async def told(folder: Path, others: int) -> list[Any]:
        async with serving(folder) as server:

            async def ask(method: str, path: str, said: Any = None) -> Any:
                answer = (await server.ask(method, f"/v1/owners/ada/{path}", said)).json()
                return without_times(answer)

            answers = []
            for number, text in enumerate(("Ada drinks tea", "Ada drinks tea", "Ada rows")):
                for other in range(others):
                    await server.add(f"Bob's note {number} of {other}", "bob")
                await server.add(text, id=str(number))
            memory_id = (await server.twin.list("ada"))["memories"][-1]["memory_id"]
            first = await ask("GET", "decisions?limit=2")
            assert len(first["decisions"]) == 2
            answers += [first, await ask("GET", f"decisions?after={first['next']}")]
            assert len(answers[-1]["decisions"]) == 1
            answers.append(await ask("GET", f"decisions?after={answers[-1]['next']}"))
            for path in ("", "/history", "/joins"):
                answers.append(await ask("GET", f"memories/{memory_id}{path}"))
            answers += [
                await ask("GET", "memories"),
                await ask("POST", "memories/find", {"query": "tea"}),
                await ask("POST", "memories/search", {"query": "tea"}),
                await ask("POST", "memories/forget-all", {}),
            ]
            async with client(server) as made:
                for tool, said in (
                    ("find_memories", {"query": "tea"}),
                    ("memory_history", {"memory_id": memory_id}),
                    ("get_memories", {}),
                ):
                    answers.append(without_times(await call(made, tool, **said)))
            bobs = (await server.twin.list("bob"))["memories"]
            for after in ("2", "no-id", *(one["members"][0]["decision_id"] for one in bobs)):
                refused = await server.ask("GET", f"{PATH}?after={after}")
                assert refused.status_code == 422
            return answers

    alone = asyncio.run(told(tmp_path / "alone", 0))
    assert alone == asyncio.run(told(tmp_path / "beside", 3))


def without_times(value: Any) -> Any:
    """An answer without its times, which no two runs share."""
    match value:
        case dict():
            return {key: without_times(one) for key, one in value.items() if key[-3:] != "_at"}
        case list():
            return [*map(without_times, value)]
        case _:
            return value


def test_an_agents_changes_tell_nothing_of_other_owners(tmp_path: Path) -> None:
    """Its pages are the same, however much another owner does; no token reads another's pages."""

    async def told(folder: Path, others: int) -> list[Any]:
        async with serving(folder) as server:
            answers: list[Any] = []
            after: Any = 0
            for number, text in enumerate(("Ada drinks tea", "Ada drinks tea", "Ada rows")):
                for other in range(others):
                    await server.add(f"Bob's note {number} of {other}", "bob")
                await server.add(text, id=str(number))
                page = (await server.ask("GET", f"{CHANGES}?after={after}&limit=2")).json()
                answers.append(without_times(page))
                assert {one["owner_id"] for one in page["changes"]} == {"ada"}
                after = page["next"]
            end = (await server.ask("GET", f"{CHANGES}?after={after}&wait=0.2")).json()
            assert end == {"changes": [], "memories": [], "gone": [], "next": after}
            bobs = (await server.ask("GET", "/v1/owners/bob/changes", name="bob")).json()
            for wrong in ("2", "no-id", bobs["next"]):
                refused = await server.ask("GET", f"{CHANGES}?after={wrong}")
                assert refused.status_code == 422
            assert (await server.ask("GET", CHANGES, name="bob")).status_code == 403
            assert (await server.ask("GET", "/v1/changes", name="grace")).status_code == 403
            return answers

    alone = asyncio.run(told(tmp_path / "alone", 1))
    assert alone == asyncio.run(told(tmp_path / "beside", 3))
    assert [len(page["changes"]) for page in alone] == [1, 1, 1]


CHANGES = "/v1/owners/ada/changes"
SOME = token("some", "ada|eve", "operator")


def test_a_mirror_of_http_is_the_list_and_hides_what_is_forgotten(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        added = [await server.add(text) for text in ("Ada rows", "Ada sings", "Ada rows a boat")]
        memory = f"/v1/owners/ada/memories/{added[1]['memory_id']}"
        pair = {"a": added[0]["candidate_id"], "b": added[2]["candidate_id"]}
        merged = (await server.ask("POST", "/v1/owners/ada/merge", pair, name="grace")).json()
        await server.ask("PATCH", memory, {"text": "Ada hums"})
        await server.ask("DELETE", memory)
        await server.add("Bob bakes", "bob")
        await server.twin.unmerge(decision_id=merged["decision_id"])
        await server.twin.set_policy("layered")

        async def mirrored(path: str, name: str) -> tuple[dict[str, Any], set[str], str]:
            memories: dict[str, Any] = {}
            after: Any = 0
            said, seen = "", set()
            while True:
                answer = await server.ask("GET", f"{path}?after={after}&limit=2", name=name)
                page = answer.json()
                said += answer.text
                seen |= {one["owner_id"] for one in page["changes"]}
                memories |= {one.pop("memory_id"): one for one in page["memories"]}
                for one in page["gone"]:
                    memories.pop(one["memory_id"], None)
                if page["next"] == after:
                    return memories, seen, said
                after = page["next"]

        ada, seen, said = await mirrored(CHANGES, "ada")
        assert seen == {"ada"}
        assert "hums" not in said
        assert "sings" not in said
        rows = (await server.ask("GET", "/v1/owners/ada/memories")).json()["memories"]
        for row in rows:
            del row["importance"], row["confidence"]  # computed on reading here
        assert ada == {one.pop("memory_id"): {**one, "owner_id": "ada"} for one in rows}
        assert len(ada) == 2
        person, _, said = await mirrored(CHANGES, "grace")
        assert person == ada
        assert "Ada hums" in said
        everybody, seen, _ = await mirrored("/v1/changes", "root")
        assert seen == {"", "ada", "bob"}
        assert len(everybody) == 3
        own, seen, _ = await mirrored("/v1/changes", "some")
        assert (own, seen) == (ada, {"ada"})

    async def run() -> None:
        async with serving(tmp_path, (*TOKENS, SOME)) as server:
            await used(server)

    asyncio.run(run())


def test_many_wait_for_changes_and_share_one_page(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They use no threads to wait, and the page is made only once."""

    async def used(server: Server) -> None:
        first = await server.add("Ada rows")
        made: list[Any] = []
        taken = ChangeFeed._take_replay

        def noted(feed: ChangeFeed, *asked: Any) -> Any:
            made.append(asked)
            return taken(feed, *asked)

        monkeypatch.setattr(ChangeFeed, "_take_replay", noted)
        path = f"{CHANGES}?after={first['decision_id']}&wait=20"
        waiting = [asyncio.ensure_future(server.ask("GET", path)) for _ in range(40)]
        while server.app.gate.running < len(waiting):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.001)
        assert (await server.ask("GET", "/v1/owners/ada/memories")).json()["total"] == 1
        second = await server.add("Ada sings")
        for answer in await asyncio.gather(*waiting):
            assert [one["event_id"] for one in answer.json()["changes"]] == [second["decision_id"]]
        assert len(made) == 1

    served(used)


@pytest.mark.parametrize(("after", "upto"), [(3, 7), (7, 7), (8, 8)])
def test_a_page_ends_where_the_projections_do(after: int, upto: int) -> None:
    """Events that others have written since are on the next page."""
    asked: list[Any] = []

    def sql(_: str, values: list[Any]) -> list[Any]:
        asked.append(values)
        return []

    reader = SimpleNamespace(refresh=lambda: None, positions=lambda: {"duckdb": 7})
    store: Any = SimpleNamespace(reader=reader, position=9, sql=sql)
    assert feed._page(store, "ada", after, 50) == ([], upto)
    assert asked == [["ada", after, upto, 50]]
