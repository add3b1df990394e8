"""What may be spent in a day, in calls and in money, and what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from palimpsest.streams.judge.notes import connect, telling
from palimpsest.streams.judge.settings import JudgeSettings

SPENT = "the budget of this day is spent"
"""Why a verdict is `unavailable` that nobody was asked for."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls and USD of one day."""

    calls: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call that may be made: its day, and what it was expected to cost."""

    day: str
    usd: float


class Budget:
    """Calls and money of a day in UTC, kept in a file: the next start goes on with it.

    Every call is counted, with what it may cost, before it is made, so that many at once do not
    spend more together than each alone might; then what it did cost replaces that.
    """

    def __init__(self, file: Path, settings: JudgeSettings, clock: Callable[[], datetime]) -> None:
        self._file = file
        self._connection = connect(file)
        self._calls, self._usd = settings.daily_calls, settings.daily_usd
        self._clock = clock

    @property
    def in_money(self) -> bool:
        """Whether there is a limit in money, so that every call's price must be known."""
        return self._usd is not None

    def spent(self) -> Spent:
        """What the calls of this day have cost, and what those under way may."""
        row = self._one("SELECT calls, usd FROM spending WHERE day = ?", (self._today(),))
        return Spent(*row) if row else Spent()

    def reserve(self, usd: float) -> Reserved | None:
        """Count a call that may cost so much; None where the day's budget has no room for it."""
        day = self._today()
        self._one("INSERT OR IGNORE INTO spending VALUES (?, 0, 0)", (day,))
        row = self._one(
            "UPDATE spending SET calls = calls + 1, usd = usd + :usd WHERE day = :day"
            " AND (:most_calls IS NULL OR calls < :most_calls)"
            " AND (:most_usd IS NULL OR usd + :usd <= :most_usd) RETURNING day",
            {"usd": usd, "day": day, "most_calls": self._calls, "most_usd": self._usd},
        )
        return None if row is None else Reserved(day, usd)

    def settle(self, reserved: Reserved, usd: float) -> None:
        """Replace what was expected by what the call did cost."""
        self._change(reserved, calls=0, usd=usd)

    def give_back(self, reserved: Reserved) -> None:
        """Count a call out again that nobody answered: it cost nothing."""
        self._change(reserved, calls=-1, usd=0.0)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    def _change(self, reserved: Reserved, calls: int, usd: float) -> None:
        sql = "UPDATE spending SET calls = calls + ?, usd = max(0, usd + ?) WHERE day = ?"
        self._one(sql, (calls, usd - reserved.usd, reserved.day))

    def _today(self) -> str:
        return self._clock().astimezone(UTC).date().isoformat()

    def _one(self, sql: str, values: tuple[object, ...] | dict[str, object]) -> Any:
        """The first row that a statement returns, if any."""
        with telling(self._file):
            rows = self._connection.execute(sql, values).fetchall()
        return rows[0] if rows else None
