"""Pairs that would be wrong joins, to find out whether an auditor notices them.

They come from separations that people or reviews stated, and from real joins with one fact changed
in the newer or the composed text, or with the newer text of another memory. All of them are derived
from the log and the seed alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from palimpsest.auditing.joins import AuditedJoin, PairTexts, Sealed, composed_text
from palimpsest.auditing.order import rank_of, sealed_order
from palimpsest.contracts.events import RANKS, FaceRule
from palimpsest.contracts.identity import event_id, token_of
from palimpsest.streams.core.separations import separation

MOST = 100
"""Maximum number of probes of an audit; more would cost labels that prove nothing about joins."""
CROSSED = 200
"""Maximum number of an owner's other joins that are tried for a pair of two memories."""
SEARCHED = 1_000
"""Maximum number of joins that are tried for near misses."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A pair that is known to be wrong, shown as a join of this kind."""

    id: str
    owner_id: str
    older: str
    newer: str
    face: FaceRule = "keep"
    composed: str | None = None

    @property
    def shown(self) -> str:
        """The digest of its texts."""
        return token_of([[self.id], [self.older, self.newer, self.composed or ""]])

    @property
    def texts(self) -> PairTexts:
        """Its texts, like those of a join."""
        return PairTexts(self.older, self.newer, self.composed)


class _Pair(NamedTuple):
    """A pair that is known to be wrong, with the text that would have been composed of it."""

    owner_id: str
    older: str
    newer: str
    composed: str | None = None


def probes_of(
    audit_id: str,
    seed: str,
    sealed: Sealed,
    joins: Mapping[str, AuditedJoin],
    known: Collection[str],
    most: int = MOST,
) -> list[Probe]:
    """Up to `most` probes, in the order in which they are shown.

    Each kind is as frequent as among joins, as far as pairs are found for it, so that the kind
    reveals nothing. `known` are decisions that were labelled before: an auditor remembers pairs
    that they separated. At most half of a kind are separations, if there are enough others.
    """
    kind_of = _pairs_by_kind(seed, sealed, joins, known, most)
    return [
        Probe(
            event_id(audit_id, f"probe:{number}"),
            pair.owner_id,
            pair.older,
            pair.newer,
            kind_of[pair],
            pair.composed,
        )
        for number, pair in enumerate(_shuffled(seed, kind_of))
    ]


def _pairs_by_kind(
    seed: str,
    sealed: Sealed,
    joins: Mapping[str, AuditedJoin],
    known: Collection[str],
    most: int,
) -> dict[_Pair, FaceRule]:
    """The pairs that are shown as probes, each with the kind of join that it is shown as."""
    drawn = [joins[pair] for pair in reversed(sealed_order(seed, joins))]
    taken = [join for join in drawn if join.face == "take"]
    texts = [join for join in drawn if join.face == "text"]
    kept = [join for join in drawn if join.face in ("keep", "repeat")]
    apart = _shuffled(seed, _separations(sealed, known))
    composed = _near_misses(sealed, texts, most * len(texts) // max(len(drawn), 1))
    crossed = _crossed(sealed, taken, most * len(taken) // max(len(drawn), 1))
    # Half of the changes are separations, if there are enough.
    half = len(crossed) // 2
    changes = [*apart[:half], *crossed[len(apart[:half]) :]]
    left = most - len(composed) - len(changes)
    near = _near_misses(sealed, kept, left)
    separations = apart[half:][: max(left // 2, left - len(near))]
    repeats = _shuffled(seed, [*separations, *near])[:left]
    return {
        **dict.fromkeys(repeats, "keep"),
        **dict.fromkeys(changes, "take"),
        **dict.fromkeys(composed, "text"),
    }


def _shuffled(seed: str, pairs: Iterable[_Pair]) -> list[_Pair]:
    return sorted(pairs, key=lambda pair: rank_of(seed, f"{pair.older}\n{pair.newer}"))


def _separations(sealed: Sealed, known: Collection[str]) -> Iterator[_Pair]:
    """Pairs of living texts that people or reviews separated, unless an audit led to that."""
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
            holds = separation(ledger, older, newer)
            known_apart = holds is not None and RANKS[holds.rank] >= RANKS["review"]
            if known_apart and older.living and newer.living:
                yield _Pair(owner, older.text, newer.text)


def _near_misses(sealed: Sealed, joins: Sequence[AuditedJoin], most: int) -> list[_Pair]:
    """Joins with one fact changed in the text that speaks or was added; folds each owner once."""
    found: list[_Pair] = []
    for join in sorted(joins[:SEARCHED], key=lambda join: join.owner_id):
        edge = sealed.ledger(join.owner_id).edges[join.id]
        older, newer, composed = edge.older.text, edge.newer.text, composed_text(edge)
        changed = near_miss(newer if composed is None else composed)
        if changed is None or changed == older:
            continue
        if composed is None:
            found.append(_Pair(join.owner_id, older, changed))
        else:
            found.append(_Pair(join.owner_id, older, newer, changed))
    return _spread(found, most)


def _crossed(sealed: Sealed, joins: Sequence[AuditedJoin], most: int) -> list[_Pair]:
    """The older text of a join with the newer text of another memory, the most similar by words.

    A changed number would be no error if the newer text replaces the older: it may be an update.
    """
    found: list[_Pair] = []
    some = sorted(joins[:SEARCHED], key=lambda join: join.owner_id)
    for owner, of_owner in groupby(some, key=lambda join: join.owner_id):
        edges = [sealed.ledger(owner).edges[join.id] for join in of_owner]
        words = {edge: frozenset(edge.newer.text.casefold().split()) for edge in edges}
        for edge in edges:
            mine = frozenset(edge.older.text.casefold().split())
            others = [e for e in edges[:CROSSED] if e.older.memory is not edge.older.memory]
            if others:
                near = max(others, key=lambda e: len(words[e] & mine) / len(words[e] | mine))
                found.append(_Pair(owner, edge.older.text, near.newer.text))
    return _spread(found, most)


def _spread(pairs: list[_Pair], most: int) -> list[_Pair]:
    """At most `most` of the pairs: every one, every second, and so on, from the first."""
    return pairs if len(pairs) <= most else pairs[:: len(pairs) // most][:most] if most else []


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
