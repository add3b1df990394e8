"""Two texts word by word: what one has that the other has not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|[^\w\s]")
"""Words, spaces and signs; each character of a script without spaces."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words; `only`: the other text has them not."""

    text: str
    only: bool


def word_diff(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, those that only one of them has marked."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    left: list[Piece] = []
    right: list[Piece] = []
    for step in Indel.opcodes(a, b):
        only = step.tag != "equal"
        _add(left, a[step.src_start : step.src_end], only)
        _add(right, b[step.dest_start : step.dest_end], only)
    return left, right


def _add(pieces: list[Piece], words: Sequence[str], only: bool) -> None:
    if words:
        pieces.append(Piece("".join(words), only))
