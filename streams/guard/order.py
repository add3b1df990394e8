"""Whether a text says the same with its parts in another order.

A text is cut into parts: a clause's own words, and each preposition or verb with what it binds.
A part keeps its words in order, so a swap inside a part, or between what two words bind, gives
other parts. Parts with the same binder keep their order among each other, and no two parts may
exchange what they follow; what *be* or a name links (*a dog called Rex*, *Rex is a dog*) is one. So
*on Monday he flew to Rome* is *he flew to Rome on Monday*, but *born in 1900 in Rome, died in 1950
in Bonn* is nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from palimpsest.streams.guard.canonical import CUTS, LINK
from palimpsest.streams.guard.lexicon import PREPOSITIONS, SUBJECTS, SUBORDINATORS
from palimpsest.streams.guard.synonyms import VERBS

_BINDERS = PREPOSITIONS | SUBORDINATORS | VERBS
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
    moved = [part for part in mine if part.binder and mine[part] and mine[part] != theirs[part]]
    return any(
        mine[one] == theirs[other] and mine[other] == theirs[one]
        for one, other in combinations(moved, 2)
    )


def _by_binder(bound: _Bound) -> dict[str, list[list[tuple[str, ...]]]]:
    """The words of each binder's parts in order; linked parts are one, in whatever order."""
    found: dict[str, list[list[tuple[str, ...]]]] = {}
    for part, governor in bound:
        same = found.setdefault(part.binder, [])
        if not part.binder and governor and not governor.binder:
            same[-1] = sorted([*same[-1], part.words])
        else:
            same.append([part.words])
    return found


def _bound(stream: tuple[str, ...]) -> _Bound:
    """The parts in order, each with what it follows.

    A preposition follows the last verb or clause; a verb the last noun or, after a cut, a subject.
    """
    found: _Bound = []
    subject = clause = noun = head = None
    for part, cut in _parts(stream):
        if not part.binder:
            found.append((part, clause if cut == LINK else None))
            subject = subject or part
            clause = noun = head = part
        elif part.binder in SUBORDINATORS:
            found.append((part, head))
            clause = noun = head = part
        elif part.binder in PREPOSITIONS:
            found.append((part, head))
            noun = part
        else:
            found.append((part, clause if cut == LINK else subject if cut else noun))
            head = part
    return found


def _parts(stream: tuple[str, ...]) -> Iterator[tuple[_Part, str]]:
    """The parts in order, each with the cut before it; of several cuts a link counts."""
    binder, words, cut, opening = "", list[str](), "", ""
    for term in stream:
        binds = _binds(term)
        if (binds and (binder or words)) or ((term in CUTS or term in SUBJECTS) and words):
            yield _Part(binder, tuple(words)), opening
            binder, words = "", []
        if term in CUTS:
            cut = cut if cut == LINK else term
            continue
        if not binder and not words:
            opening = cut
        if binds:
            binder = term
        else:
            words.append(term)
        cut = ""
    if binder or words:
        yield _Part(binder, tuple(words)), opening


def _binds(term: str) -> bool:
    if term in _BINDERS:
        return True
    return term.endswith("ing") and len(term) > 4 and term not in _NO_PARTICIPLES
