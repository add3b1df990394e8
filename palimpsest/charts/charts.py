"""Layout of charts: the coordinates of each part of an SVG. Pure; `charts.html` draws them.

There is no markup or colour here: each part has a series number, which the style sheet colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

WIDTH, HEIGHT = 720.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 8.0, 10.0, 26.0
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
GAP = 0.18
"""The share of a column's width that is left empty beside its bar."""
MOST_LABELS = 8
"""Maximum number of labels below the columns: more would overlap."""
BINS = 50
"""Columns of a histogram of similarities, from 0 to 1; exactly 1 is in the last."""
LEAST = 1e-9
"""Smaller amounts are not drawn: a quarter of the smallest float is 0."""
SLACK = 1e-9
"""Tolerance for rounding errors."""


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One bar: its label, and the amount of each kind."""

    label: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Rect:
    """A part of a bar, or a zone behind the bars; `title` is shown under the pointer.

    `series` is the number of its kind, from 0.
    """

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True, slots=True)
class ChartMark:
    """A label, at the place where its text ends or, below the columns, is centred."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class ChartZone:
    """A part of the horizontal axis, from 0 to 1, with the same decision for all its pairs."""

    begin: float
    end: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that is drawn. `legend` has the kinds that occur, each with its number."""

    name: str
    title: str
    description: str
    bars: Sequence[Rect]
    zones: Sequence[Rect]
    rows: Sequence[ChartMark]
    labels: Sequence[ChartMark]
    legend: Sequence[tuple[int, str]]

    width = WIDTH
    height = HEIGHT
    left = LEFT
    right = WIDTH - RIGHT
    base = TOP + PLOT_HEIGHT


def stacked(
    name: str,
    title: str,
    columns: Sequence[ChartColumn],
    kinds: Sequence[str],
    *,
    unit: str = "",
    zones: Iterable[ChartZone] = (),
) -> Chart:
    """Stacked bars; the parts of each are in the order of `kinds`.

    `name` is the chart's id in its page; `unit`, such as `$`, precedes every amount.
    """
    most = max((column.total for column in columns), default=0.0)
    ticks = _ticks(most, least_step=0.0 if unit else 1.0)
    top = ticks[-1]
    wide = PLOT_WIDTH / max(len(columns), 1)
    bars = [
        bar
        for number, column in enumerate(columns)
        for bar in _bars(column, kinds, LEFT + number * wide, wide, top, unit)
    ]
    behind = [_zone(zone, kinds) for zone in zones]
    occurring = {kind for column in columns for kind, amount in column.parts.items() if amount}
    occurring |= {kinds[zone.series] for zone in behind}
    return Chart(
        name=name,
        title=title,
        description=_description(columns, most, unit),
        bars=bars,
        zones=behind,
        rows=[ChartMark(LEFT - 6, _height(tick, top), f"{unit}{tick:g}") for tick in ticks],
        labels=_labels(columns, wide),
        legend=[(series, kind) for series, kind in enumerate(kinds) if kind in occurring],
    )


def by_day(
    name: str,
    title: str,
    days: Mapping[date, Mapping[str, float]],
    kinds: Sequence[str],
    *,
    unit: str = "",
) -> Chart:
    """One bar per day, in the order of the mapping."""
    columns = [ChartColumn(day.isoformat(), parts) for day, parts in days.items()]
    return stacked(name, title, columns, kinds, unit=unit)


def bin_of(similarity: float) -> int:
    """The column of a histogram that a similarity is in; the first one for those below 0."""
    return max(0, min(math.floor(similarity * BINS + SLACK), BINS - 1))


def histogram(
    name: str,
    title: str,
    counts: Mapping[int, Mapping[str, float]],
    kinds: Sequence[str],
    zones: Iterable[ChartZone],
) -> Chart:
    """One bar for each column of `bin_of`, with the zones behind them."""
    columns = [ChartColumn(f"{n / BINS:.2f}", counts.get(n, {})) for n in range(BINS)]
    return stacked(name, title, columns, kinds, zones=zones)


def _bars(
    column: ChartColumn, kinds: Sequence[str], x: float, wide: float, top: float, unit: str
) -> Iterable[Rect]:
    below = 0.0
    for series, kind in enumerate(kinds):
        amount = column.parts.get(kind, 0.0)
        if amount <= 0:
            continue
        y = _height(below + amount, top)
        title = f"{column.label}: {unit}{amount:g} {kind}"
        yield Rect(
            _round(x + wide * GAP / 2),
            y,
            _round(wide * (1 - GAP)),
            _round(_height(below, top) - y),
            series,
            title,
        )
        below += amount


def _zone(zone: ChartZone, kinds: Sequence[str]) -> Rect:
    x = LEFT + zone.begin * PLOT_WIDTH
    width = (zone.end - zone.begin) * PLOT_WIDTH
    title = f"from {zone.begin:g}: {zone.label}"
    return Rect(_round(x), TOP, _round(width), PLOT_HEIGHT, kinds.index(zone.kind), title)


def _height(amount: float, top: float) -> float:
    return _round(TOP + PLOT_HEIGHT * (1 - amount / top))


def _labels(columns: Sequence[ChartColumn], wide: float) -> list[ChartMark]:
    """Labels of some columns, spaced so that they do not overlap; always the first."""
    every = max(1, math.ceil(len(columns) / MOST_LABELS))
    return [
        ChartMark(_round(LEFT + (number + 0.5) * wide), HEIGHT - 8, columns[number].label)
        for number in range(0, len(columns), every)
    ]


def _ticks(most: float, least_step: float) -> list[float]:
    """Up to five round amounts from 0; the last is at least `most`."""
    if most < LEAST:
        return [0.0, 1.0]
    rough = most / 4
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(n * scale for n in (1, 2, 5, 10) if n * scale >= rough * (1 - SLACK))
    step = max(step, least_step)
    return [float(f"{step * n:.12g}") for n in range(math.ceil(most / step - SLACK) + 1)]


def _description(columns: Sequence[ChartColumn], most: float, unit: str) -> str:
    """A description for screen readers: the total, and where most of it is."""
    total = sum(column.total for column in columns)
    if not total:
        return "The chart is empty."
    highest = next(column for column in columns if column.total == most)
    return (
        f"{unit}{total:.12g} in all, from {columns[0].label} to {columns[-1].label};"
        f" most at {highest.label}: {unit}{most:.12g}. The table has all numbers."
    )


def _round(number: float) -> float:
    return round(number, 2)
