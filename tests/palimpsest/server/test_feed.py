"""Who asks for the next decisions waits for the log, and looks at no page meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.server.bodies import FedDecision
from palimpsest.server.http import feed
from tests.palimpsest.server.conftest import Server, Use, serving
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
    """What it is told after the same requests is the same, however much another owner did."""

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


@pytest.mark.parametrize(("after", "upto"), [(3, 7), (7, 7), (8, 8)])
def test_a_page_ends_where_the_projections_do(after: int, upto: int) -> None:
    """What others have written since is on the next one."""
    asked: list[Any] = []

    def sql(_: str, values: list[Any]) -> list[Any]:
        asked.append(values)
        return []

    reader = SimpleNamespace(refresh=lambda: None, positions=lambda: {"duckdb": 7})
    store: Any = SimpleNamespace(reader=reader, position=9, sql=sql)
    assert feed._page(store, "ada", after, 50) == ([], upto)
    assert asked == [["ada", after, upto, 50]]
