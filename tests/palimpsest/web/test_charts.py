"""The layout of a chart: amounts become heights, and everything stays inside."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palimpsest.charts.charts import (
    HEIGHT,
    LEFT,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    TOP,
    WIDTH,
    ChartColumn,
    ChartZone,
    bin_of,
    by_day,
    histogram,
    stacked,
)
from palimpsest.charts.kinds import FAMILY_OF, happened
from palimpsest.charts.zones import zones_of
from palimpsest.projections.duckdb.activity import Scored
from palimpsest.streams.policies import load_policy
from palimpsest.web.pages.policy import _chart, _stretch

KINDS = ("apart", "joined", "waits")
BASE = TOP + PLOT_HEIGHT


def test_heights_are_in_proportion_and_parts_stand_on_each_other() -> None:
    columns = [ChartColumn("a", {"apart": 4, "joined": 4}), ChartColumn("b", {"joined": 2})]
    chart = stacked("c", "Kinds", columns, KINDS)
    apart, joined, second = chart.bars
    assert [bar.series for bar in chart.bars] == [0, 1, 1]
    assert apart.height == pytest.approx(joined.height, abs=0.02)
    assert second.height == pytest.approx(apart.height / 2, abs=0.02)
    assert apart.y + apart.height == pytest.approx(BASE)
    assert joined.y + joined.height == pytest.approx(apart.y)
    assert second.x - apart.x == pytest.approx(PLOT_WIDTH / 2)
    assert [bar.title for bar in chart.bars] == ["a: 4 apart", "a: 4 joined", "b: 2 joined"]
    assert chart.legend == [(0, "apart"), (1, "joined")]


def test_rows_are_round_and_reach_the_highest_bar() -> None:
    chart = stacked("c", "Kinds", [ChartColumn("a", {"apart": 37})], KINDS)
    assert [row.label for row in chart.rows] == ["0", "10", "20", "30", "40"]
    assert chart.rows[0].y == BASE
    assert chart.rows[-1].y == TOP
    few = stacked("c", "Kinds", [ChartColumn("a", {"apart": 2})], KINDS)
    assert [row.label for row in few.rows] == ["0", "1", "2"]


def test_money_has_its_unit_and_parts_of_it() -> None:
    days = {date(2026, 3, 1): {"m": 0.05}, date(2026, 3, 2): {"m": 0.2}}
    chart = by_day("cost", "Cost", days, ["m"], unit="$")
    assert [row.label for row in chart.rows] == ["$0", "$0.05", "$0.1", "$0.15", "$0.2"]
    assert chart.bars[0].title == "2026-03-01: $0.05 m"
    assert "$0.25 in all, from 2026-03-01 to 2026-03-02; most at 2026-03-02" in chart.description


def test_what_costs_next_to_nothing_has_round_rows_too() -> None:
    chart = by_day("cost", "Cost", {date(2026, 3, 1): {"m": 2e-05}}, ["m"], unit="$")
    assert [row.label for row in chart.rows] == ["$0", "$5e-06", "$1e-05", "$1.5e-05", "$2e-05"]


@pytest.mark.parametrize(
    ("amounts", "where"), [((3, 1), "a: 3"), ((1, 3), "b: 3"), ((2, 2), "a: 2")]
)
def test_who_does_not_see_a_chart_is_told_where_most_of_it_is(
    amounts: tuple[int, int], where: str
) -> None:
    columns = [ChartColumn(name, {"apart": n}) for name, n in zip("ab", amounts, strict=True)]
    described = stacked("c", "Kinds", columns, KINDS).description
    assert f"4 in all, from a to b; most at {where}. " in described


def test_zones_lie_where_their_scores_are() -> None:
    zones = [
        ChartZone(0.92, 1.0, "joined", "it joins"),
        ChartZone(0.85, 0.92, "waits", "the judge"),
    ]
    chart = histogram("h", "Similarity", {46: {"joined": 3}}, KINDS, zones)
    joined, waits = chart.zones
    assert (joined.series, waits.series) == (1, 2)
    assert chart.legend == [(1, "joined"), (2, "waits")], "zones are told apart, too"
    assert joined.x == pytest.approx(LEFT + 0.92 * PLOT_WIDTH, abs=0.01)
    assert joined.x + joined.width == pytest.approx(LEFT + PLOT_WIDTH, abs=0.01)
    assert waits.x + waits.width == pytest.approx(joined.x, abs=0.02)
    [bar] = chart.bars
    assert bar.title == "0.92: 3 joined"
    assert joined.x <= bar.x <= joined.x + joined.width


def test_every_similarity_is_in_a_column() -> None:
    """Also one below 0, and one whose product with the columns is rounded down (.58)."""
    found = [bin_of(score) for score in (-1.0, -0.0001, 0.0, 0.0199, 0.02, 0.58, 0.9999, 1.0)]
    assert found == [0, 0, 0, 0, 1, 29, 49, 49]


def test_a_decision_whose_nearest_is_below_0_is_in_the_chart_and_in_a_zone() -> None:
    scored = [Scored(-1_200, "stored", 2), Scored(8_600, "auto_reject", 1)]
    zones = zones_of(load_policy("standard"))
    assert [bar.title for bar in _chart(scored, []).bars] == ["0.00: 2 kept", "0.86: 1 joined"]
    stretches = [_stretch(zone, guarded, scored).decisions for zone, guarded in zones]
    assert [sum(some.values()) for some in stretches if some] == [1, 2]


def test_an_empty_chart_is_labelled() -> None:
    assert stacked("c", "Kinds", [], KINDS).description == "The chart is empty."
    empty = by_day("c", "Kinds", {date(2026, 3, 1): {}}, KINDS)
    assert (empty.bars, empty.legend) == ([], [])
    assert empty.description == "The chart is empty."


def test_many_columns_have_few_labels() -> None:
    chart = stacked("c", "Kinds", [ChartColumn(str(n), {"apart": 1}) for n in range(31)], KINDS)
    assert [mark.label for mark in chart.labels] == [str(n) for n in range(0, 31, 4)]


@example([[0.0, 0.0, 5e-324]])
@example([[0.0, 2e-323, 0.0]])
@given(st.lists(st.lists(st.floats(0, 1e6), min_size=3, max_size=3), min_size=1, max_size=60))
def test_whatever_the_amounts_every_part_is_inside(amounts: list[list[float]]) -> None:
    columns = [
        ChartColumn(str(n), dict(zip(KINDS, amount, strict=True)))
        for n, amount in enumerate(amounts)
    ]
    chart = stacked("c", "Kinds", columns, KINDS, unit="$")
    for bar in chart.bars:
        assert bar.x >= LEFT
        assert bar.x + bar.width <= WIDTH
        assert bar.height >= 0
        assert bar.y >= TOP - 0.01
        assert bar.y + bar.height <= BASE + 0.02
    assert all(0 <= row.y <= HEIGHT for row in chart.rows)
    assert len(chart.rows) <= 6


def test_a_decision_is_named_by_what_it_did() -> None:
    named = {decision: happened(decision) for decision in FAMILY_OF}
    assert named["auto_reject"] == "joined (auto_reject)"
    assert named["pending"] == "waiting (pending)"
    assert [named[word] for word in ("stored", "invalid")] == ["stored", "invalid"]
    assert all(decision in word for decision, word in named.items())
    assert happened("reversed") == "reversed"
