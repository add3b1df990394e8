"""Decisions, statements and costs, for a span of days and for each day.

Both cover only the owners that the caller may see: a reviewer's figures are for their pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.charts.charts import Chart, ChartColumn, by_day, stacked
from palimpsest.charts.kinds import FAMILIES, FAMILY_OF, by_family
from palimpsest.contracts.events import Decided
from palimpsest.contracts.identity import decision_id_of
from palimpsest.projections.duckdb.activity import (
    WORDS,
    Day,
    JoinOfDay,
    OtherEvent,
    activity_on,
    days,
)
from palimpsest.server.callers import Caller
from palimpsest.server.problems import ProblemError
from palimpsest.web.door import Door, Visit
from palimpsest.web.seen import seen_by

SPAN = 30
"""Days per page."""
LISTED = 50
"""Maximum number of merges and statements on a day's page, the latest ones."""


@dataclass(frozen=True, slots=True)
class DayRow:
    """A day in a table: amounts by family and by statement, and the judge's cost."""

    day: date
    families: Mapping[str, int]
    words: Mapping[str, int]
    verdicts: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class DaysView:
    """A span of days with charts, and a row for each day with any event, the latest first.

    `unpriced` are the models whose cost is unknown on some day: the chart omits that cost.
    """

    first: date
    last: date
    rows: Sequence[DayRow]
    charts: Sequence[Chart]
    unpriced: Sequence[str]


@dataclass(frozen=True, slots=True)
class DayView:
    """One day: its figures, its last merges with both texts, and the last statements."""

    day: Day
    chart: Chart
    merges: Sequence[tuple[JoinOfDay, str, str]]
    words: Sequence[OtherEvent]


def add(door: Door) -> None:
    """Add the page of a span of days, and that of each day."""
    door.get("/days", _days)
    door.get("/days/{day}", _day)


def span(store: Palimpsest, caller: Caller, last: date) -> DaysView:
    """The days up to and including the last one."""
    store.reader.refresh()
    owners = seen_by(store, caller)
    found = days(store.reader.projections, last - timedelta(days=SPAN - 1), last, owners)
    models = sorted({asked.model for day in found for asked in day.judge})
    charts = [
        by_day(
            "kinds",
            "Decisions by outcome",
            {day.day: by_family(day.decisions) for day in found},
            [*FAMILIES],
        ),
        by_day(
            "words", "Reversals and other statements", {day.day: day.words for day in found}, WORDS
        ),
        by_day(
            "cost",
            "Cost of the judge, by model",
            {
                day.day: {j.model: j.cost_usd for j in day.judge if j.cost_usd is not None}
                for day in found
            },
            models,
            unit="$",
        ),
    ]
    rows = [_row(day) for day in reversed(found) if day.decisions or day.words or day.judge]
    unpriced = sorted({j.model for day in found for j in day.judge if j.cost_usd is None})
    return DaysView(found[0].day, last, rows, charts, unpriced)


def one_day(store: Palimpsest, caller: Caller, day: date) -> DayView:
    """A single day."""
    store.reader.refresh()
    owners, folder = seen_by(store, caller), store.reader.projections
    [found] = days(folder, day, day, owners)
    families = by_family(found.decisions)
    columns = [ChartColumn(name, {name: n}) for name, n in families.items()]
    chart = stacked("kinds", "Decisions by outcome", columns, [*FAMILIES])
    joined, others = activity_on(folder, day, LISTED, owners)
    merges = [
        (join, _text(store, join.joined_to), _text(store, join.candidate_id)) for join in joined
    ]
    return DayView(found, chart, merges, others)


def _row(day: Day) -> DayRow:
    verdicts = sum(asked.verdicts for asked in day.judge)
    return DayRow(day.day, by_family(day.decisions), day.words, verdicts, day.cost_usd)


def _text(store: Palimpsest, candidate_id: str) -> str:
    """A candidate's text, from one line of the log."""
    recorded = store.reader.log.find(decision_id_of(candidate_id))
    event = recorded.event if recorded else None
    assert isinstance(event, Decided), "joined candidates were admitted"
    return event.data.content.text


# -- pages ---------------------------------------------------------------------------------------


async def _days(visit: Visit) -> Response:
    today = datetime.now(UTC).date()
    last = _parse_day(visit.query["until"]) if "until" in visit.query else today
    view = await visit.store.call(span, visit.caller, min(last, today))
    earlier, later = view.first - timedelta(days=1), view.last + timedelta(days=SPAN)
    return visit.page(
        "days.html",
        view=view,
        families=[*FAMILIES],
        words=WORDS,
        earlier=earlier,
        later=min(later, today) if view.last < today else None,
    )


async def _day(visit: Visit) -> Response:
    day = _parse_day(visit.ids["day"])
    view = await visit.store.call(one_day, visit.caller, day)
    return visit.page(
        "day.html",
        view=view,
        family_of=FAMILY_OF,
        earlier=day - timedelta(days=1),
        later=day + timedelta(days=1) if day < datetime.now(UTC).date() else None,
        limit=LISTED,
    )


def _parse_day(given: str) -> date:
    """Parse a day, within the years in which the days around it also exist."""
    try:
        day = date.fromisoformat(given)
        day - timedelta(days=2 * SPAN), day + timedelta(days=2 * SPAN)
    except (ValueError, OverflowError):
        raise ProblemError(422, "invalid", "write a day like 2026-03-01") from None
    return day
