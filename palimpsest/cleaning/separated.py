"""Pairs of texts that a person marked as not the same, for `clean --separate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from palimpsest.cleaning.texts import Texts
from palimpsest.contracts.errors import UsageError
from palimpsest.streams.core.text import verbatim_hash


class SeparatedPair(NamedTuple):
    """Two texts that stay apart, even if a rule finds them the same."""

    text: str
    other: str


def read_separations(path: Path) -> list[SeparatedPair]:
    """The pairs of a file in the report's form: JSON lines with `text` and `partner_text`.

    Raises UsageError if the file cannot be read, or if a line is not such a pair: the error names
    the line. Pairs are given by their texts, so the file still holds when rows have moved.
    """
    found = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            pair = orjson.loads(line)
            texts = pair["text"], pair["partner_text"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            texts = (None, None)
        if not all(isinstance(text, str) for text in texts):
            raise UsageError(f"{path}, line {number}: should have `text` and `partner_text`")
        found.append(SeparatedPair(*texts))
    return found


def separated_rows(texts: Texts, pairs: Sequence[SeparatedPair]) -> list[tuple[int, int]]:
    """The rows in which both texts of a pair appear first, in each scope that has both."""
    if not pairs:
        return []
    wanted = {verbatim_hash(text) for pair in pairs for text in pair}
    hashes = [verbatim_hash(text) for text in texts.texts]
    found = []
    for numbers in texts.scopes.values():
        first = {hashes[n]: texts.first[n] for n in numbers if hashes[n] in wanted}
        for pair in pairs:
            one, other = (first.get(verbatim_hash(text)) for text in pair)
            if one is not None and other is not None and one != other:
                found.append((one, other))
    return found
