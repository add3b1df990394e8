"""Finds the duplicates of a table, and decides which row of each group stays (docs/clean.md)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from palimpsest.cleaning.by_rule import decides_by_words, join_by_rule
from palimpsest.cleaning.by_store import RowStore, join_by_store
from palimpsest.cleaning.by_writer import join_by_writer
from palimpsest.cleaning.separated import SeparatedPair, separated_rows
from palimpsest.cleaning.texts import Groups, RowJoin, ScopedText, Texts
from palimpsest.cleaning.vectors import TextVectors
from palimpsest.cleaning.within import join_within
from palimpsest.contracts.policy import Policy
from palimpsest.streams.embedder import Engine, Progress

Keep = Literal["first", "newest", "longest"]
"""Which row of a group stays."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a table is cleaned: by a policy and, if `within` is given, also by cosine alone."""

    policy: Policy
    within: float | None = None
    keep: Keep = "first"
    separated: Sequence[SeparatedPair] = ()


@dataclass(slots=True)
class Cleaned:
    """The result: the joins and, for each removed row, the one that stays.

    `why` has the first join on the way from a removed row to the one that stays. `held` counts
    the joins that separations prevented, `embedded` the texts that needed a vector.
    """

    texts: Texts
    joins: list[RowJoin] = field(default_factory=list)
    stays: dict[int, int] = field(default_factory=dict)
    why: dict[int, RowJoin] = field(default_factory=dict)
    embedded: int = 0
    held: int = 0

    def text(self, row: int) -> str:
        """A row's text; for a verbatim repeat, as it was first written."""
        return self.texts.texts[self.texts.of[row]]


def find_duplicates(
    rows: Iterable[ScopedText],
    rules: Rules,
    load: Callable[[], Engine],
    progress: Progress,
    store: RowStore | None = None,
) -> Cleaned:
    """Decide on all rows in their order; `load` gives the model of the policy when it is needed.

    The policy's joins come first, in the order of the rows; each row joins its first partner that
    no separation forbids. Joins by cosine alone follow, among the rows that would stay. With a
    `store`, its own joins replace the policy's, and it keeps the rows.
    """
    texts = Texts.read(rows)
    found = Cleaned(texts)
    groups = Groups(len(texts.of), separated_rows(texts, rules.separated))
    vectors = TextVectors(texts.texts, load, progress)
    by_words = store is None and decides_by_words(rules.policy)
    if store is None:
        for join in texts.repeats():
            found.joins.append(join)
            groups.unite(join.row, join.partner)
    if store is not None:
        joined: Iterable[list[RowJoin]] = join_by_store(texts, store, progress)
    elif by_words:
        joined = join_by_rule(texts, rules.policy, vectors, progress)
    else:
        joined = join_by_writer(texts, rules.policy, load, progress)
    for joins in joined:
        _take_first(found, groups, joins)
    preferred = _Preferred(texts, rules.keep)
    if rules.within is not None:
        refused = set[int]()

        def unite(row: int, other: int) -> bool:
            """Unite the groups of two rows; note the row if a separation prevents that."""
            united = groups.unite(row, other)
            if not united:
                refused.add(row)
            return united

        kept = preferred.order(preferred.of_groups(groups))
        joins = join_within(kept, texts, rules.within, vectors, unite, progress)
        found.joins += joins
        found.held += len(refused.difference(join.row for join in joins))
    found.embedded = len(vectors) if by_words else len(texts.texts)
    _settle(found, groups, preferred)
    return found


def _take_first(found: Cleaned, groups: Groups, joins: Sequence[RowJoin]) -> None:
    for join in joins:
        if groups.unite(join.row, join.partner):
            found.joins.append(join)
            return
    found.held += 1


def _settle(found: Cleaned, groups: Groups, preferred: _Preferred) -> None:
    """Follow the joins from each row that stays to all rows removed in its favour."""
    joins: dict[int, list[RowJoin]] = defaultdict(list)
    for join in found.joins:
        joins[join.row].append(join)
        joins[join.partner].append(join)
    for kept in preferred.of_groups(groups):
        waiting = deque([kept] if kept in joins else ())
        while waiting:
            at = waiting.popleft()
            for join in joins[at]:
                other = join.row if join.partner == at else join.partner
                if other != kept and other not in found.stays:
                    found.stays[other] = kept
                    found.why[other] = join
                    waiting.append(other)


class _Preferred:
    """Which row of a group stays."""

    def __init__(self, texts: Texts, keep: Keep) -> None:
        self._texts, self._keep = texts, keep

    def _key(self, row: int) -> tuple[object, ...]:
        match self._keep:
            case "first":
                return (row,)
            case "longest":
                return (-len(self._texts.texts[self._texts.of[row]]), row)
            case "newest":
                # Later times sort first, rows without a time last.
                return ([-ord(c) for c in self._texts.moments[row]] or [1], -row)

    def order(self, rows: Iterable[int]) -> list[int]:
        """The rows, those to keep first."""
        return sorted(rows, key=self._key)

    def of_groups(self, groups: Groups) -> Iterator[int]:
        """The row of each group that stays."""
        best: dict[int, int] = {}
        for row, number in enumerate(self._texts.of):
            if number < 0:
                continue
            group = groups.of(row)
            if group not in best or self._key(row) < self._key(best[group]):
                best[group] = row
        return iter(best.values())
