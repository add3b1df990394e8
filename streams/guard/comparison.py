"""Two readings side by side: which cues they show, and whether they are near-identical."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from contracts.evidence import Cue
from streams.guard.reading import Reading, negators


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the guard says of a pair."""

    cues: tuple[Cue, ...]
    """Every cue found, in either direction, sorted by name."""
    near_identical: bool
    """The same words in the same order, up to what never changes meaning."""
    order_ratio: float
    """Order-aware similarity of the words, 0 to 1."""


def compare(older: Reading, newer: Reading) -> Comparison:
    """Compare two readings; the cues are the same in either order."""
    cues = {cue for cue, differs in _CHECKS if differs(older, newer)}
    return Comparison(
        cues=tuple(sorted(cues)),
        near_identical=older.terms == newer.terms,
        order_ratio=round(Indel.normalized_similarity(older.words, newer.words), 4),
    )


def _marked(reading: Reading, sign: str) -> Counter[str]:
    return Counter(term for term in reading.terms if term[0] == sign and len(term) > 1)


def _differ_in(sign: str, older: Reading, newer: Reading) -> bool:
    return _marked(older, sign) != _marked(newer, sign)


_CHECKS = (
    (Cue.NUMBER, lambda a, b: _differ_in("#", a, b)),
    (Cue.DATE, lambda a, b: _differ_in("@", a, b)),
    (Cue.UNIT, lambda a, b: _differ_in("~", a, b)),
    (Cue.VERSION, lambda a, b: _differ_in("^", a, b)),
    (Cue.NEGATION, lambda a, b: negators(a.terms) != negators(b.terms)),
    (
        Cue.SWAPPED_ORDER,
        lambda a, b: a.terms != b.terms and sorted(a.terms) == sorted(b.terms),
    ),
    (Cue.NAME, lambda a, b: bool(a.names - set(b.words) or b.names - set(a.words))),
    (Cue.UNKNOWN_TOKEN, lambda a, b: a.foreign or b.foreign or a.unknown != b.unknown),
    (Cue.TRUNCATED, lambda a, b: a.truncated or b.truncated),
)
