"""Finds where a pair's cues stand in its two texts, so that they can be coloured for people.

The guard compares sets of terms; here each term is traced back to the words that it came from. A
cue may have no place (the model saw only the beginning), or a place in only one of the texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Indel

from palimpsest.contracts.evidence import Cue
from palimpsest.streams.guard.clues import SILENT, named, written_figures
from palimpsest.streams.guard.comparison import recased
from palimpsest.streams.guard.data.cue_words import NEGATORS
from palimpsest.streams.guard.reading import read
from palimpsest.streams.guard.text.facts import fact
from palimpsest.streams.guard.text.language import is_foreign
from palimpsest.streams.guard.text.polarity import contraries, has_antonyms
from palimpsest.streams.guard.text.words import places, split, words_of

_SIGNS = {Cue.NUMBER: "#", Cue.UNIT: "~", Cue.DATE: "@", Cue.VERSION: "^"}


@dataclass(frozen=True, slots=True)
class CuePlace:
    """A range of a text that shows a cue."""

    start: int
    end: int
    cue: Cue


_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Side:
    """A text's terms, names and words; a span is the numbers of its first and last written word."""

    text: str
    written: list[str]
    terms: list[str]
    spans: list[_Span]
    names: list[tuple[str, _Span]]
    words: frozenset[str]
    blind: list[tuple[str, _Span]]


def cue_places(
    older: str,
    newer: str,
    cues: Collection[Cue],
    *,
    unknown: tuple[Collection[str], Collection[str]] = ((), ()),
) -> tuple[list[CuePlace], list[CuePlace]]:
    """The places of ``cues`` in the older and in the newer text, from left to right.

    ``unknown`` are the words of each text that the model has no token for.
    """
    one, other = _side(older, unknown[0]), _side(newer, unknown[1])
    return _in_text(older, _found(one, other, cues)), _in_text(newer, _found(other, one, cues))


def _in_text(text: str, found: Iterable[tuple[_Span, Cue]]) -> list[CuePlace]:
    where = places(text)
    if where is None:
        return []
    marked = (CuePlace(where[first][0], where[last][1], cue) for (first, last), cue in found)
    return sorted(set(marked), key=lambda place: (place.start, place.end, place.cue))


def _side(text: str, unknown: Collection[str]) -> _Side:
    written = split(text)
    words, came_from = list[str](), list[_Span]()
    for number, each in enumerate(written):
        found = words_of([each])
        words += found
        came_from += [(number, number)] * len(found)
    terms, spans, at = list[str](), list[_Span](), 0
    while at < len(words):
        found, end = fact(words, at)
        for term in found:
            if term not in SILENT:
                terms.append(term)
                spans.append((came_from[at][0], came_from[end - 1][1]))
        at = end
    return _Side(
        text=text,
        written=written,
        terms=terms,
        spans=spans,
        names=[(name, (at, at)) for name, at in named(written)] if not text.isupper() else [],
        words=frozenset(words),
        blind=[*_blind(written, {word.casefold() for word in unknown})],
    )


def _blind(written: list[str], unknown: Collection[str]) -> Iterator[tuple[str, _Span]]:
    for number, word in enumerate(written):
        low = word.casefold()
        if any(map(is_foreign, word)) or any(word in low or low in word for word in unknown):
            yield low, (number, number)


# -- what one text shows that the other does not ---------------------------------------------------


def _found(mine: _Side, other: _Side, cues: Collection[Cue]) -> Iterator[tuple[_Span, Cue]]:
    for cue in cues:
        if cue in _SIGNS:
            yield from ((span, cue) for span in _facts(mine, other, _SIGNS[cue]))
        elif cue in _OTHERS:
            yield from ((span, cue) for span in _OTHERS[cue](mine, other))


def _facts(mine: _Side, other: _Side, sign: str) -> Iterator[_Span]:
    """The places of facts that only this text has.

    If both texts have the same numbers, the places of those that are written differently; if none
    is, of those that count other things.
    """
    own, others = _signed(mine, sign), _signed(other, sign)
    if sign == "#" and sorted(t for t, _ in own) == sorted(t for t, _ in others):
        if written_figures(mine.text) != written_figures(other.text):
            own, others = _figures(mine), _figures(other)
        else:
            own, others = _counting(mine), _counting(other)
    yield from _beyond(own, others)


def _signed(side: _Side, sign: str) -> list[tuple[str, _Span]]:
    signed = zip(side.terms, side.spans, strict=True)
    return [term for term in signed if term[0][0] == sign and len(term[0]) > 1]


def _figures(side: _Side) -> list[tuple[str, _Span]]:
    """The words with a digit, each with the sign before it."""
    found = pairwise(("", *side.written))
    return [
        ((before if before in "-–−." else "") + word, (at, at))
        for at, (before, word) in enumerate(found)
        if any(map(str.isdigit, word))
    ]


def _counting(side: _Side) -> list[tuple[str, _Span]]:
    """The numbers, each with what is counted."""
    return [term for term in _followed_by(side) if term[0][0] == "#" and term[0][1] != " "]


def _followed_by(side: _Side) -> Iterator[tuple[str, _Span]]:
    for (term, after), span in zip(pairwise((*side.terms, "")), side.spans, strict=True):
        yield f"{term} {after}", span


def _beyond(
    own: Iterable[tuple[str, _Span]], others: Iterable[tuple[str, _Span]]
) -> Iterator[_Span]:
    """The places of terms that occur more often than in the other text."""
    left = Counter(term for term, _ in others)
    for term, span in own:
        left[term] -= 1
        if left[term] < 0:
            yield span


def _negated(mine: _Side, other: _Side) -> Iterator[_Span]:
    yield from _beyond(_negators(mine), _negators(other))
    own, others = frozenset(mine.terms), frozenset(other.terms)
    contrary = contraries(own - others, others)
    yield from (s for t, s in zip(mine.terms, mine.spans, strict=True) if t in contrary)


def _negators(side: _Side) -> list[tuple[str, _Span]]:
    """The negators, each with what it negates."""
    return [(said, span) for said, span in _followed_by(side) if said.partition(" ")[0] in NEGATORS]


def _opposite(mine: _Side, other: _Side) -> Iterator[_Span]:
    own, others = frozenset(mine.terms), frozenset(other.terms)
    opposite = {word for word in own - others if has_antonyms((word,), others - own)}
    yield from (s for t, s in zip(mine.terms, mine.spans, strict=True) if t in opposite)


def _names(mine: _Side, other: _Side) -> Iterator[_Span]:
    yield from (span for name, span in mine.names if name not in other.words)


def _recased(mine: _Side, other: _Side) -> Iterator[_Span]:
    found = recased(read(mine.text), read(other.text))
    yield from ((at, at) for at, word in enumerate(mine.written) if word in found)


def _moved(mine: _Side, other: _Side) -> Iterator[_Span]:
    for step in Indel.opcodes(mine.terms, other.terms):
        if step.tag != "equal":
            yield from mine.spans[step.src_start : step.src_end]


def _not_read(mine: _Side, other: _Side) -> Iterator[_Span]:
    yield from _beyond(mine.blind, other.blind)


_OTHERS: dict[Cue, Callable[[_Side, _Side], Iterator[_Span]]] = {
    Cue.NEGATION: _negated,
    Cue.ANTONYM: _opposite,
    Cue.NAME: _names,
    Cue.CASE: _recased,
    Cue.SWAPPED_ORDER: _moved,
    Cue.UNKNOWN_TOKEN: _not_read,
}
