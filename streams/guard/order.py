"""Whether a text says the same with its parts in another order.

A text is cut into parts: a clause's own words, and each preposition or verb with what it binds.
A part keeps its words in order, so a swap inside a part, or between what two words bind, gives
other parts. Parts with the same binder keep their order among each other, and no two parts may
exchange what they follow. So *on Monday he flew to Rome* is *he flew to Rome on Monday*, but *born
in 1900 in Rome, died in 1950 in Bonn* is nothing else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

from streams.guard.canonical import CUTS
from streams.guard.lexicon import PREPOSITIONS, SUBJECTS, SUBORDINATORS
from streams.guard.synonyms import VERBS

_NO_PARTICIPLES = frozenset(
    (
        "building thing morning evening king ring wing string spring ceiling clothing during"
        " something anything nothing everything sing bring wedding painting meeting drawing setting"
        " sibling pudding sterling"
    ).split()
)


@dataclass(frozen=True, slots=True)
class _Part:
    """What binds the words (nothing for a clause's own), and the words."""

    binder: str
    words: tuple[str, ...]


_Bound = list[tuple[_Part, _Part | None]]
"""Each part with the part that it follows in the grammar."""


def reordered(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two streams of the same terms differ only in the order of parts that may move."""
    mine, theirs = _bound(one), _bound(other)
    if _by_binder(mine) != _by_binder(theirs):
        return False
    binders = [part.binder for part, _ in mine if part.binder]
    if len(set(binders)) == len(binders):
        return not _exchanged(dict(mine), dict(theirs))
    return Counter(mine) == Counter(theirs)


def _exchanged(mine: dict[_Part, _Part | None], theirs: dict[_Part, _Part | None]) -> bool:
    moved = [part for part in mine if mine[part] != theirs[part]]
    return any(
        mine[one] == theirs[other] and mine[other] == theirs[one]
        for one, other in combinations(moved, 2)
    )


def _by_binder(bound: _Bound) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for part, _ in bound:
        found.setdefault(part.binder, []).append(part.words)
    return found


def _bound(stream: tuple[str, ...]) -> _Bound:
    """The parts in order. A preposition follows the last verb or clause; a verb the last noun.

    After a cut, a verb follows the subject again.
    """
    found: _Bound = []
    subject = noun = head = None
    for part, after_cut in _parts(stream):
        if not part.binder:
            found.append((part, None))
            subject = subject or part
            noun = head = part
        elif part.binder in PREPOSITIONS:
            found.append((part, head))
            noun = part
        elif part.binder in SUBORDINATORS:
            found.append((part, head))
            noun = head = part
        else:
            found.append((part, subject if after_cut else noun))
            head = part
    return found


def _parts(stream: tuple[str, ...]) -> list[tuple[_Part, bool]]:
    """The parts in order, each with whether a cut stands before it."""
    parts: list[tuple[_Part, bool]] = []
    binder, words, cut, cut_before = "", list[str](), False, False
    for term in (*stream, "|"):
        binds = _binds(term)
        opens = term in CUTS or term in SUBJECTS
        if (binds or (opens and words)) and (binder or words):
            parts.append((_Part(binder, tuple(words)), cut_before))
            binder, words = "", []
        if term in CUTS:
            cut = True
            continue
        if binds:
            binder = term
        else:
            words.append(term)
        if binds or (len(words) == 1 and not binder):
            cut_before = cut
        cut = False
    if binder:
        parts.append((_Part(binder, ()), cut_before))
    return parts


def _binds(term: str) -> bool:
    if term in PREPOSITIONS or term in SUBORDINATORS or term in VERBS:
        return True
    return term.endswith("ing") and len(term) > 4 and term not in _NO_PARTICIPLES
