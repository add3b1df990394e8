"""The distinct texts of a table by scope, and the joins between its rows."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from palimpsest.streams.core.text import verbatim_hash

EXACT = "hash_exact"
"""The rule that joins a verbatim repeat; nothing separates such rows."""


class ScopedText(NamedTuple):
    """One row: its text, or the `problem` if it cannot be read.

    Only rows of the same `scope` are compared. A later `moment` sorts after an earlier one.
    """

    text: str | None
    problem: str = ""
    scope: Hashable = ()
    moment: str = ""


class RowJoin(NamedTuple):
    """A join by a rule of a row to its `partner`, which was decided on before it.

    Scores are from 0 to 1. `stopped` is for joins by cosine alone: the cues for which the guard
    would not have joined the two, or `("differs",)` if they are not near-identical and show no cue.
    `decision_id` names the join in the store that keeps the rows, if there is one.
    """

    row: int
    partner: int
    rule: str
    score: float
    stopped: tuple[str, ...] = ()
    decision_id: str | None = None


@dataclass(slots=True)
class Texts:
    """The rows of a table, counted from 0, and their distinct texts in order of appearance.

    `of` has the number of each row's text, or -1 if it cannot be read; `first` has the row in which
    each text first appears; `scopes` has the texts' numbers by scope.
    """

    texts: list[str] = field(default_factory=list)
    first: array[int] = field(default_factory=lambda: array("q"))
    of: array[int] = field(default_factory=lambda: array("q"))
    moments: list[str] = field(default_factory=list)
    scopes: dict[Hashable, list[int]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[ScopedText]) -> Texts:
        """Read all rows; verbatim identical texts count as one."""
        found = cls()
        known: dict[tuple[Hashable, bytes], int] = {}
        for row in rows:
            found.moments.append(row.moment)
            if row.text is None:
                found.problems[len(found.of)] = row.problem
                found.of.append(-1)
                continue
            key = (row.scope, bytes.fromhex(verbatim_hash(row.text)))
            number = known.setdefault(key, len(found.texts))
            if number == len(found.texts):
                found.texts.append(row.text)
                found.first.append(len(found.of))
                found.scopes.setdefault(row.scope, []).append(number)
            found.of.append(number)
        return found

    def by_scope(self, rows: Iterable[int]) -> list[list[int]]:
        """The rows that can be read, in groups of one scope."""
        scope_of = {number: scope for scope, numbers in self.scopes.items() for number in numbers}
        found: dict[Hashable, list[int]] = {}
        for row in rows:
            if self.of[row] >= 0:
                found.setdefault(scope_of[self.of[row]], []).append(row)
        return [*found.values()]

    def repeats(self) -> list[RowJoin]:
        """Each row that repeats an earlier one of its scope verbatim, joined to the first."""
        return [
            RowJoin(row, self.first[number], EXACT, 1.0)
            for row, number in enumerate(self.of)
            if number >= 0 and self.first[number] != row
        ]


class Groups:
    """Groups of joined rows; a separation keeps its two rows in different groups."""

    def __init__(self, size: int, separated: Iterable[tuple[int, int]] = ()) -> None:
        self._above = array("q", range(size))
        self._separated = list(separated)

    def of(self, row: int) -> int:
        """The row that represents a row's group."""
        above = self._above
        while above[row] != row:
            above[row] = row = above[above[row]]
        return row

    def unite(self, row: int, other: int) -> bool:
        """Unite two groups and return True; False if that would bring separated rows together."""
        one, two = self.of(row), self.of(other)
        if one == two:
            return True
        for a, b in self._separated:
            if {self.of(a), self.of(b)} == {one, two}:
                return False
        self._above[max(one, two)] = min(one, two)
        return True
