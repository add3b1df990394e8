"""Who asks for the next decisions waits for the log, and looks at no page meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.serve import feed
from palimpsest.serve.bodies import Feed
from tests.serve.conftest import Server, Use

PATH = "/v1/owners/ada/decisions"


def test_a_page_is_looked_up_again_only_once_the_log_went_on(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[Any] = []
    look_up = feed._page

    def noted(*asked: Any) -> Feed:
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


@pytest.mark.parametrize(("after", "upto"), [(3, 7), (7, 7), (8, 8)])
def test_a_page_ends_where_the_projections_do(after: int, upto: int) -> None:
    """What others have written since is on the next one."""
    asked: list[Any] = []

    def sql(_: str, values: list[Any]) -> list[Any]:
        asked.append(values)
        return []

    gateway = SimpleNamespace(refresh=lambda: None, positions=lambda: {"duckdb": 7})
    store: Any = SimpleNamespace(gateway=gateway, position=9, sql=sql)
    assert feed._page(store, "ada", after, 50) == {"decisions": [], "next": upto}
    assert asked == [["ada", after, upto, 50]]
