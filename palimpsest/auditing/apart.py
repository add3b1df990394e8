"""Pairs of one scope that are not joined at a position of the log, with their recorded scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from palimpsest.auditing.joins import PairTexts, Sealed
from palimpsest.auditing.order import rank_of
from palimpsest.contracts.events import RANKS
from palimpsest.contracts.identity import event_id, token_of
from palimpsest.evaluation.automatic import standing
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.separations import separation
from palimpsest.streams.embedder import Progress


@dataclass(frozen=True, slots=True)
class ApartPair:
    """Two texts of one scope in two memories, by arrival; `score` is None if it was drawn."""

    id: str
    owner_id: str
    older: str
    newer: str
    score: float | None
    shown: str


@dataclass(frozen=True, slots=True)
class Population:
    """The pairs in which missed duplicates are looked for.

    `near` pairs each text that joined no other with the nearest text found for it, unless the pair
    waits for the judge, or a person or a review keeps it apart. `others` counts all other pairs of
    one scope that are in two memories; `at_random` are drawn from those. `joins` counts the
    standing joins.
    """

    near: dict[str, ApartPair]
    at_random: dict[str, ApartPair]
    others: int
    joins: int


def population(sealed: Sealed, seed: str, at_random: int, progress: Progress) -> Population:
    """The pairs at a position, with `at_random` other pairs drawn by the seed."""
    owners, near, weights = sealed.owners(), dict[str, ApartPair](), dict[tuple[str, str], int]()
    joins = 0
    for number, owner in enumerate(owners):
        progress("reading the pairs", number / len(owners))
        found = {pair.id: pair for pair in _near(sealed, owner)}
        near |= found
        joins += sum(1 for _ in standing(sealed.ledger(owner)))
        for namespace, count in _others(sealed.ledger(owner), found).items():
            weights[owner, namespace] = count
    drawn = _drawn(sealed, seed, near, weights, at_random)
    return Population(near, {pair.id: pair for pair in drawn}, sum(weights.values()), joins)


def texts_of(pair: ApartPair, now: Ledger) -> PairTexts:
    """The texts of a pair; None for those that are gone from the ledger `now`."""

    def kept(candidate_id: str) -> str | None:
        entry = now.entries[candidate_id]
        return entry.text if entry.forgotten is None and entry.text else None

    return PairTexts(kept(pair.older), kept(pair.newer))


def _near(sealed: Sealed, owner: str) -> Iterator[ApartPair]:
    ledger, nearest = sealed.ledger(owner), sealed.nearest(owner)
    since = sealed.scope.since
    for candidate_id, (other_id, score) in nearest.items():
        newer, older = ledger.entries[candidate_id], ledger.entries[other_id]
        if other_id in newer.open or (since is not None and newer.decided_at < since):
            continue
        if _are_apart(ledger, older, newer):
            yield _pair(owner, older, newer, score)


def _pair(owner: str, one: Entry, two: Entry, score: float | None) -> ApartPair:
    older, newer = sorted((one, two), key=lambda entry: entry.place)
    texts = [older.distinct.hash, newer.distinct.hash]
    own_id = event_id(newer.id, f"apart:{older.id}")
    return ApartPair(own_id, owner, older.id, newer.id, score, token_of([[own_id], texts]))


def _are_apart(ledger: Ledger, one: Entry, two: Entry) -> bool:
    """Whether two current texts are in two memories, and no person or review keeps them apart."""
    both_current = one.distinct.current is one and two.distinct.current is two
    if not both_current or one.memory is two.memory:
        return False
    holds = separation(ledger, one, two)
    return holds is None or RANKS[holds.rank] < RANKS["review"]


def _current(ledger: Ledger, namespace: str) -> list[Entry]:
    """The candidates that stand for the texts of a scope, by arrival."""
    rows = (distinct.current for distinct in ledger.scopes[namespace].rows)
    return [entry for entry in rows if entry is not None]


def _others(ledger: Ledger, near: dict[str, ApartPair]) -> dict[str, int]:
    """The number of pairs in two memories in each namespace, without the near ones."""
    found = {}
    for namespace in ledger.scopes:
        current = _current(ledger, namespace)
        sizes = Counter[Memory](entry.memory for entry in current).values()
        together = sum(size * (size - 1) // 2 for size in sizes)
        found[namespace] = len(current) * (len(current) - 1) // 2 - together
    for pair in near.values():
        found[ledger.entries[pair.newer].fields.namespace] -= 1
    return found


def _drawn(
    sealed: Sealed,
    seed: str,
    near: dict[str, ApartPair],
    weights: dict[tuple[str, str], int],
    count: int,
) -> Iterator[ApartPair]:
    """Distinct pairs, each as likely as the others."""
    places, ends = [*weights], [*accumulate(weights.values())]
    if not ends or not ends[-1]:
        return
    random = Random(rank_of(seed, "at random"))  # noqa: S311
    wanted = Counter(
        place for place in random.choices(places, cum_weights=ends, k=count) if weights[place]
    )
    for (owner, namespace), number in sorted(wanted.items()):
        ledger = sealed.ledger(owner)
        current = _current(ledger, namespace)
        found = dict[str, ApartPair]()
        while len(found) < min(number, weights[owner, namespace]):
            one, two = random.sample(current, 2)
            if one.memory is not two.memory:
                pair = _pair(owner, one, two, None)
                if pair.id not in near:
                    found[pair.id] = pair
        yield from found.values()
