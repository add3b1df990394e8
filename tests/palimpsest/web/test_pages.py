"""The contents of the pages of memories, owners and days, without a server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.limits import LONGEST_REASON
from palimpsest.contracts.requests import Selection
from palimpsest.projections.duckdb import activity as figures
from palimpsest.web.pages import days as days_page
from palimpsest.web.pages import memory as memory_page
from palimpsest.web.pages import owner as owner_page
from palimpsest.web.pages.days import SPAN, _days, span
from palimpsest.web.pages.memory import (
    DEEPEST,
    TimelinePart,
    _carry_out,
    _part,
    _pin,
    _shown,
    timeline,
    view,
)
from palimpsest.web.pages.owner import _owners, counts
from palimpsest.web.seen import seen_by
from tests.palimpsest.web.conftest import own_words, pair_texts, person, say


class Visited(SimpleNamespace):
    """A request as a page sees it; keeps the page's answer."""

    def __init__(self, store: Palimpsest, **given: Any) -> None:
        given = {"query": {}, "form": {}, "caller": person(), **given}
        super().__init__(store=self, opened=store, **given)
        self.context: dict[str, Any] = {}

    async def call(self, method: Any, *args: Any, **more: Any) -> Any:
        return method(self.opened, *args, **more)

    def owner(self) -> str:
        return "ada"

    def number(self, name: str) -> Any:
        return self.query.get(name)

    def page(self, _template: str, **context: Any) -> Any:
        self.context = context

    def to(self, path: str) -> Any:
        self.context = {"to": path}


def seen(page: Any, store: Palimpsest, **given: Any) -> dict[str, Any]:
    visit = Visited(store, **given)
    asyncio.run(page(visit))
    return visit.context


# -- a memory ------------------------------------------------------------------------------------


def test_members_are_counted_from_where_the_page_begins(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_page, "MEMBERS", 3)
    first = say(store, *["Ada rows"] * 8)[0]
    parts = [view(store, "ada", first, TimelinePart(start=start)) for start in (0, 3, 6)]
    assert [(len(part.branches), part.more) for part in parts] == [(3, 5), (3, 2), (2, 0)]


def test_a_tree_is_in_the_order_of_arrival_and_not_indented_for_ever(store: Palimpsest) -> None:
    ids = say(store, *(own_words(number, 5) for number in range(DEEPEST + 5)))
    a, b, c, *chain = ids
    for one, other in ((a, b), (a, c), *zip([c, *chain], chain, strict=False)):
        store.merge(one, other)
    branches = view(store, "ada", a).branches
    assert [branch.member["candidate_id"] for branch in branches] == ids
    depths = [0, 1, 1, *range(2, len(chain) + 2)]
    assert [branch.depth for branch in branches] == [min(depth, DEEPEST) for depth in depths]


def test_members_that_joined_nobody_are_in_the_order_of_arrival(store: Palimpsest) -> None:
    """For a memory held together only by the join of a later member."""
    a, b, c, d = say(store, *(own_words(number, 5) for number in range(4)))
    for older, newer in ((a, d), (b, d), (c, d)):
        store.merge(older, newer)
    branches = view(store, "ada", a).branches
    assert [(branch.member["candidate_id"], branch.depth) for branch in branches] == [
        (a, 0),
        (d, 1),
        (b, 0),
        (c, 0),
    ]


def test_the_next_page_of_events_is_named_where_there_is_one(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_page, "EVENTS", 3)
    a, b = say(store, "Ada rows", "Ada paints")
    store.merge(a, b)
    assert timeline(store, "ada", a).earlier is None, "these are all"
    decision = store.show(b)["members"][1]["decision_id"]
    store.confirm(decision)
    told = timeline(store, "ada", a)
    assert [line.event["event"] for line in told.lines] == ["confirmed", "joined", "decided"]
    assert told.earlier == told.lines[-1].event["position"]
    rest = timeline(store, "ada", a, TimelinePart(before=told.earlier))
    assert [line.event["event"] for line in rest.lines] == ["decided"]


def test_what_became_of_each_memory_is_named_by_any_of_their_pages(store: Palimpsest) -> None:
    a, b, c, d = say(store, "Ada rows", "Ada paints", "Ada skis", "Ada sings")
    merged = store.merge(a, b)
    before = store.position
    store.unmerge(decision_id=merged["decision_id"])
    store.merge(c, b)
    store.retract(Selection(owner_id="ada", candidate_id=d))
    after = store.position
    say(store, "What comes later is not of it")
    assert view(store, "ada", a).became == (), "nothing has just happened"
    for some_id in (a, c, d):
        found = view(store, "ada", some_id, TimelinePart(since=before, until=after)).became
        told = [(one.fate, one.memory["face"], [by["face"] for by in one.by]) for one in found]
        assert sorted(told) == [
            ("changed", "Ada rows", []),
            ("new", "Ada paints", []),
            ("retracted", "Ada sings", []),
            ("swallowed", "Ada skis", ["Ada paints"]),
        ]


def test_a_page_of_earlier_events_has_them_at_once(store: Palimpsest) -> None:
    def part(**query: Any) -> TimelinePart:
        found: TimelinePart = _part(Visited(store, query=query))  # type: ignore[arg-type]
        return found

    assert part() == TimelinePart()
    assert part(before=9) == TimelinePart(before=9, whole=True)
    assert part(before=0) == TimelinePart(before=0, whole=True)
    assert part(whole="1") == TimelinePart(whole=True)
    assert part(start=3, since=4) == TimelinePart(start=3, since=4)


@pytest.mark.parametrize("carried", [True, False])
def test_consequences_are_carried_out_if_the_form_says_so(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch, carried: bool
) -> None:
    asked: list[Any] = []

    def noted(*_: Any, with_consequences: bool, **more: Any) -> None:
        asked.append((with_consequences, more.get("because")))

    monkeypatch.setattr(memory_page, "foresee", noted)
    monkeypatch.setattr(memory_page, "carry_out", noted)
    step = {"id": "d"}
    said = {"consequences": "1" if carried else "0"}
    ids = {"memory": "m"}
    seen(_shown, store, query={**step, **said}, ids=ids)
    seen(_shown, store, query=step, ids=ids)
    seen(_carry_out, store, form={**step, **said, "because": " so it is "}, ids=ids)
    seen(_carry_out, store, form={**step, "because": "  "}, ids=ids)
    assert asked == [(carried, None), (True, None), (carried, "so it is"), (False, None)]


def test_a_reason_is_as_long_as_on_the_board(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def undone(*_: Any, because: str | None, **_more: Any) -> None:
        asked.append(because)

    def pinned(_store: Any, _id: str, _until: str, _actor: str, because: str | None) -> None:
        asked.append(because)

    monkeypatch.setattr(memory_page, "carry_out", undone)
    monkeypatch.setattr(memory_page, "pin", pinned)
    [a] = say(store, "Ada rows")
    for page in (_carry_out, _pin):
        seen(page, store, form={"because": "x" * (LONGEST_REASON + 1)}, ids={"memory": a})
    assert asked == ["x" * LONGEST_REASON] * 2


# -- an owner ------------------------------------------------------------------------------------


def test_an_owner_has_what_is_living_and_what_stands(store: Palimpsest) -> None:
    a, _ = say(store, "Ada rows", "Ada rows")
    older, newer = say(store, *pair_texts(0))
    c, d = say(store, "Ada sings", "Ada swims")
    out = store.merge(c, d)
    found = counts(store, "ada")
    assert (found.candidates, found.memories, found.repeats) == (6, 4, 2)
    assert (found.joins, found.pending, found.retracted) == (2, 1, 0)
    store.unmerge(decision_id=out["decision_id"])
    store.retract(Selection(owner_id="ada", candidate_id=newer))
    store.retract(Selection(owner_id="ada", candidate_id=a))
    found = counts(store, "ada")
    assert (found.candidates, found.memories, found.repeats) == (6, 4, 0)
    assert (found.joins, found.pending, found.retracted) == (1, 0, 2)
    assert older


def test_owners_are_listed_page_by_page_and_found_in_any_case(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_page, "OWNERS", 2)
    for owner in ("ada", "bob", "Straße", "eve"):
        say(store, "A boat", owner=owner)
    everybody = person(owners=".*")
    page = seen(_owners, store, caller=everybody)
    found, more = list(page["owners"]), page["more"]
    assert more == found[-1], "the last one of this page, not the first of the next"
    page = seen(_owners, store, caller=everybody, query={"after": more})
    assert sorted([*found, *page["owners"]]) == sorted(["ada", "bob", "Straße", "eve"])
    assert page["more"] is None
    page = seen(_owners, store, caller=everybody, query={"q": " STRASSE "})
    assert page["owners"] == ["Straße"]


# -- days ----------------------------------------------------------------------------------------


def test_a_span_has_so_many_days_and_rows_for_those_with_anything(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = datetime.now(UTC).date()
    one = say(store, "Ada rows")[0]
    shown = span(store, person(owners=".*"), today)
    assert (shown.first, shown.last) == (today - timedelta(days=SPAN - 1), today)
    assert [row.day for row in shown.rows] == [store_day(store, one)]

    def days(_folder: Path, since: Any, until: Any, _owners: Any) -> list[Any]:
        found = [figures.Day(since + timedelta(days=n)) for n in range((until - since).days + 1)]
        found[1].words = {"reversed": 1}
        found[2].judge = [SimpleNamespace(model="m", verdicts=2, cost_usd=0.5)]  # type: ignore[list-item]
        found[3].decisions = {"stored": 1}
        return found

    monkeypatch.setattr(days_page, "days", days)
    shown = span(store, person(owners=".*"), today)
    assert [(row.day - shown.first).days for row in shown.rows] == [3, 2, 1]


def store_day(store: Palimpsest, candidate_id: str) -> Any:
    return datetime.fromisoformat(store.show_candidate(candidate_id)["decided_at"]).date()


def test_no_page_of_days_is_beyond_today(store: Palimpsest) -> None:
    today = datetime.now(UTC).date()

    def shown(until: Any) -> tuple[Any, Any, Any]:
        page = seen(_days, store, query={} if until is None else {"until": until.isoformat()})
        return page["view"].last, page["earlier"], page["later"]

    first = today - timedelta(days=SPAN)
    assert shown(None) == (today, first, None)
    assert shown(today + timedelta(days=3)) == (today, first, None)
    a_week_ago = today - timedelta(days=7)
    assert shown(a_week_ago) == (a_week_ago, first - timedelta(days=7), today)
    long_ago = today - timedelta(days=3 * SPAN)
    assert shown(long_ago)[2] == long_ago + timedelta(days=SPAN)


def test_only_who_sees_everybody_sees_what_is_nobodys(store: Palimpsest) -> None:
    """A pattern that matches all current owners is enough."""
    say(store, "Ada rows")
    say(store, "Bob paints", owner="bob")
    assert seen_by(store, person(owners="ada|bob")) is None
    assert seen_by(store, person(owners="ada|eve")) == ["ada"]
    assert seen_by(store, person(owners="eve")) == []
