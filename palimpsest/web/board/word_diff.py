"""Compares two texts word by word, and marks the guard's cues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from palimpsest.contracts.evidence import BLIND, STRONG_CUES, Cue
from palimpsest.process.differing import differing
from palimpsest.streams.guard.places import CuePlace


def cue_kind(cue: str) -> str:
    """The kind of a cue, which gives its colour: value, meaning, order or blind spot."""
    if cue in STRONG_CUES - {Cue.NEGATION}:
        return "value"
    if cue in BLIND:
        return "blind"
    return "meaning" if cue in (Cue.NEGATION, Cue.ANTONYM) else "order"


KINDS = ("value", "meaning", "order", "blind")
"""In order of precedence, for several cues in one place."""


@dataclass(frozen=True, slots=True)
class DiffPart:
    """Words of one colour; `cue` is the cue that they show, or empty."""

    text: str
    cue: str = ""

    @property
    def kind(self) -> str:
        """The kind of the cue, if there is one."""
        return cue_kind(self.cue) if self.cue else ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words; `only`: the other text does not have them."""

    parts: Sequence[DiffPart]
    only: bool

    @property
    def text(self) -> str:
        """The text of all parts."""
        return "".join(part.text for part in self.parts)


def word_diff(
    old: str, new: str, places: tuple[Iterable[CuePlace], Iterable[CuePlace]] = ((), ())
) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces with their cues; words that only one text has are marked.

    So are the spaces between two such words.
    """
    left, right = differing(old, new)
    return [*_pieces(old, left, places[0])], [*_pieces(new, right, places[1])]


def _pieces(
    text: str, runs: Iterable[tuple[str, bool]], places: Iterable[CuePlace]
) -> Iterator[Piece]:
    cues = [""] * len(text)
    for place in sorted(places, key=lambda place: -KINDS.index(cue_kind(place.cue))):
        cues[place.start : place.end] = [str(place.cue)] * (place.end - place.start)
    at = 0
    for run, only in runs:
        yield Piece([*_parts(run, cues[at : at + len(run)])], only)
        at += len(run)


def _parts(run: str, cues: Sequence[str]) -> Iterator[DiffPart]:
    at = 0
    for cue, same in groupby(cues):
        end = at + len([*same])
        yield DiffPart(run[at:end], cue)
        at = end
