"""Two readings side by side: which cues they show, and whether they are near-identical."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from palimpsest.contracts.evidence import Cue
from palimpsest.streams.guard.order import reordered
from palimpsest.streams.guard.polarity import contraries, has_antonyms, negations, spell_out
from palimpsest.streams.guard.reading import Reading

MOST_TERMS = 256
"""Texts of more terms are near-identical only with all terms in the same order.

The model sees 256 tokens; beyond them a moved part would be judged by nothing else.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the guard says of a pair."""

    cues: tuple[Cue, ...]
    """Every cue found, in either direction, sorted by name."""
    near_identical: bool
    """The same content in the same order, up to what never changes meaning."""
    order_ratio: float
    """Order-aware similarity of the words, 0 to 1."""


def compare(older: Reading, newer: Reading) -> Comparison:
    """Compare two readings; the cues are the same in either order."""
    near = older.terms == newer.terms
    cues = set(_of_the_model(older, newer))
    if older.words != newer.words:
        cues.update(_of_names(older, newer))
        if not near:
            near = _differing(older, newer, cues)
    return Comparison(
        cues=tuple(sorted(cues)),
        near_identical=near,
        order_ratio=round(Indel.normalized_similarity(older.words, newer.words), 4),
    )


def _of_the_model(older: Reading, newer: Reading) -> Iterator[Cue]:
    if older.truncated or newer.truncated:
        yield Cue.TRUNCATED
    if older.foreign or newer.foreign or older.unknown != newer.unknown:
        yield Cue.UNKNOWN_TOKEN


def _of_names(older: Reading, newer: Reading) -> Iterator[Cue]:
    if older.names != newer.names and (
        older.names.difference(newer.words) or newer.names.difference(older.words)
    ):
        yield Cue.NAME


def _differing(older: Reading, newer: Reading, cues: set[Cue]) -> bool:
    """Add the cues of two readings whose terms differ; say whether the meaning can be the same."""
    cues.update(_of_facts(older, newer))
    mine, theirs = frozenset(older.terms), frozenset(newer.terms)
    if has_antonyms(mine - theirs, theirs - mine):
        cues.add(Cue.ANTONYM)
    contrary = contraries(mine - theirs, theirs) | contraries(theirs - mine, mine)
    one, other = spell_out(older.terms, contrary), spell_out(newer.terms, contrary)
    if _negated_otherwise(older, newer) if not contrary else negations(one) != negations(other):
        cues.add(Cue.NEGATION)
    if one == other:
        return True
    if len(older.terms) != len(newer.terms) or sorted(older.terms) != sorted(newer.terms):
        return False
    if len(older.terms) <= MOST_TERMS and reordered(older.stream, newer.stream):
        return True
    cues.add(Cue.SWAPPED_ORDER)
    return False


def _of_facts(older: Reading, newer: Reading) -> Iterator[Cue]:
    if older.dates != newer.dates:
        yield Cue.DATE
    if older.versions != newer.versions:
        yield Cue.VERSION
    if older.units != newer.units:
        yield Cue.UNIT
        if older.numbers != newer.numbers:
            yield Cue.NUMBER
    elif older.numbers != newer.numbers or (older.units and older.measures != newer.measures):
        yield Cue.NUMBER


def _negated_otherwise(older: Reading, newer: Reading) -> bool:
    """Whether the negators differ, or negate other words that both texts have."""
    if older.negations == newer.negations:
        return False
    if len(older.negations) != len(newer.negations):
        return True
    changed = set(older.negations) ^ set(newer.negations)
    scopes = {pair.partition(" ")[2] for pair in changed}
    return any(scope in older.terms and scope in newer.terms for scope in scopes)
