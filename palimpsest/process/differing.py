"""The words of two texts that only one of them has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rapidfuzz.distance import Indel

from palimpsest.process.cutting import is_within

Run = tuple[str, bool]
"""Words, and whether only one text has them."""

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_MARK = "\0"
"""Stands for a code point that belongs to the character before it."""
_WORDS = re.compile(
    rf"[{_UNSPACED}]{_MARK}*|[^\W{_UNSPACED}](?:[^\W{_UNSPACED}]|{_MARK})*|\s+|[^\w\s]{_MARK}*"
)
"""Words, spaces and punctuation; in a script without spaces, each character."""


def differing(old: str, new: str) -> tuple[list[Run], list[Run]]:
    """Both texts as runs of words; those that only one text has, with the spaces between them."""
    a, b = _words(old), _words(new)
    left: list[Run] = []
    right: list[Run] = []
    for step in Indel.opcodes(a, b):
        only = step.tag != "equal"
        left.append(("".join(a[step.src_start : step.src_end]), only))
        right.append(("".join(b[step.dest_start : step.dest_end]), only))
    return [*_joined(left)], [*_joined(right)]


def _words(text: str) -> list[str]:
    if text.isascii():
        return _WORDS.findall(text)
    marked = "".join(
        _MARK if at and is_within(text, at) else character for at, character in enumerate(text)
    )
    return [text[found.start() : found.end()] for found in _WORDS.finditer(marked)]


def _joined(runs: Sequence[Run]) -> Iterator[Run]:
    """Non-empty runs, with equal neighbours merged."""
    runs = [run for run in runs if run[0]]
    around = zip([("", False), *runs], runs, [*runs[1:], ("", False)], strict=False)
    marked = [
        (text, only or (before and after and text.isspace()))
        for (_, before), (text, only), (_, after) in around
    ]
    for only, same in groupby(marked, lambda run: run[1]):
        yield "".join(text for text, _ in same), only
