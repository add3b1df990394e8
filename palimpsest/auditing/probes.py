"""Pairs that are known to be wrong as joins, to find out whether an auditor sees that.

They come from separations that people or reviews stated, and from near misses: a real join whose
newer text has one fact changed. Both follow from the log and the seed alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.auditing.joins import AuditedJoin, PairTexts, Sealed
from palimpsest.auditing.order import rank_of, sealed_order
from palimpsest.contracts.events import RANKS
from palimpsest.contracts.identity import event_id, token_of
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation

MOST = 100
"""Probes of an audit; more would cost labels that prove nothing about joins."""
SEARCHED = 1_000
"""Joins that are tried for near misses at most."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A pair that is known to be wrong, shown as a join whose older text stays."""

    id: str
    owner_id: str
    older: str
    newer: str

    @property
    def shown(self) -> str:
        """The digest of its texts."""
        return token_of([[self.id], [self.older, self.newer]])

    @property
    def texts(self) -> PairTexts:
        """As those of a join."""
        return PairTexts(self.older, self.newer)


def probes_of(
    audit_id: str,
    seed: str,
    sealed: Sealed,
    joins: Mapping[str, AuditedJoin],
    known: Collection[str],
    most: int = MOST,
) -> list[Probe]:
    """Up to `most` probes, in the order in which they are shown.

    `known` are decisions that were labelled before: what an auditor has separated is remembered.
    Half of them at most are separations, if there are near misses enough.
    """
    order = sealed_order(seed, joins)
    near = _near_misses(sealed, [joins[pair] for pair in reversed(order)], most)
    apart = sorted(_separations(sealed, known), key=lambda pair: rank_of(seed, "\n".join(pair)))
    half = max(most // 2, most - len(near))
    pairs = sorted([*apart[:half], *near], key=lambda pair: rank_of(seed, "\n".join(pair)))
    return [
        Probe(event_id(audit_id, f"probe:{number}"), *pair)
        for number, pair in enumerate(pairs[:most])
    ]


_Pair = tuple[str, str, str]
"""Owner, older and newer text."""


def _separations(sealed: Sealed, known: Collection[str]) -> Iterator[_Pair]:
    """Pairs of living texts that people or reviews hold apart, if no audit led to it."""
    for owner in sealed.owners():
        ledger = sealed.ledger(owner)
        stated = [*ledger.separations.values()]
        stated += [
            (edge.older.id, edge.newer.id)
            for edge in ledger.edges.values()
            if not edge.standing and edge.id not in known and not edge.exact
        ]
        for ends in dict.fromkeys(stated):
            older, newer = sorted((ledger.entries[end] for end in ends), key=lambda end: end.place)
            if _are_known_apart(ledger, older, newer):
                yield owner, older.text, newer.text


def _are_known_apart(ledger: Ledger, older: Entry, newer: Entry) -> bool:
    holds = separation(ledger, older, newer)
    known = holds is not None and RANKS[holds.rank] >= RANKS["review"]
    return known and older.living and newer.living


def _near_misses(sealed: Sealed, joins: Sequence[AuditedJoin], most: int) -> list[_Pair]:
    """Near misses of joins whose older text stays, by owner so that each is folded once."""
    tried = [join for join in joins if join.face in ("keep", "repeat")][:SEARCHED]
    found: list[_Pair] = []
    for join in sorted(tried, key=lambda join: join.owner_id):
        edge = sealed.ledger(join.owner_id).edges[join.id]
        changed = near_miss(edge.newer.text)
        if changed is not None and changed != edge.older.text:
            found.append((join.owner_id, edge.older.text, changed))
    return found[:most] if len(found) <= most else found[:: len(found) // most][:most]


def near_miss(text: str) -> str | None:
    """The text with one fact changed: a number, an opposite, or a negation; None if it has none."""
    for change in _CHANGES:
        changed = change(text)
        if changed != text:
            return changed
    return None


def _other_number(text: str) -> str:
    """The last number, one higher; it keeps its leading zeros."""
    numbers = [*re.finditer(r"\d+", text)]
    if not numbers or len(numbers[-1].group()) > 15:
        return text
    number = numbers[-1].group()
    start, end = numbers[-1].span()
    return text[:start] + str(int(number) + 1).zfill(len(number)) + text[end:]


_OPPOSITES = """
    always never, before after, left right, likes dislikes, loves hates, more less, morning evening,
    first last, big small, old new, open closed, early late, increase decrease, up down, large tiny,
    enabled disabled, enable disable, allow forbid, accepts refuses, with without, above below,
    north south, east west, summer winter, hot cold, high low, best worst, minimum maximum,
    monday thursday, tuesday friday, wednesday sunday, january october, march november
"""
_OPPOSITE_OF = {
    word: other
    for pair in _OPPOSITES.replace("\n", " ").split(",")
    for word, other in (pair.split(), pair.split()[::-1])
}
_OPPOSITE_WORD = re.compile(rf"\b({'|'.join(_OPPOSITE_OF)})\b", re.IGNORECASE)
_VERB = re.compile(r"\b(is|are|was|were|can|will|should|must)\b(?! not\b)", re.IGNORECASE)


def _opposite(text: str) -> str:
    def other(match: re.Match[str]) -> str:
        word = match.group()
        found = _OPPOSITE_OF[word.lower()]
        return found.capitalize() if word[0].isupper() else found

    return _OPPOSITE_WORD.sub(other, text, count=1)


def _negated(text: str) -> str:
    return _VERB.sub(lambda match: f"{match.group()} not", text, count=1)


_CHANGES: tuple[Callable[[str], str], ...] = (_other_number, _opposite, _negated)
