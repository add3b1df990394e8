"""The results of a measurement, and its scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: `small` to try the benchmark, `full` for the sizes of the requirements.

    `data` is a folder with streams/*.jsonl of real texts; without it sentences are made up.
    """

    size: str = "normal"
    data: Path | None = None

    def of(self, small: int, normal: int, full: int) -> int:
        """The number for this scale."""
        return {"small": small, "normal": normal, "full": full}[self.size]


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table: values of several runs, and the target.

    `reach` is the target, None if there is none; `at_most` means that less is better.
    """

    name: str
    unit: str
    runs: list[float]
    reach: float | None = None
    at_most: bool = False
    note: str = ""
    beside: dict[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """The median of the runs."""
        return median(self.runs)

    @property
    def holds(self) -> bool | None:
        """Whether the median reaches the target; None if there is none."""
        if self.reach is None:
            return None
        return self.median <= self.reach if self.at_most else self.median >= self.reach


Measure = Callable[[Scale], list[Measured]]
"""Measures a figure; runs in its own process."""
