"""The names of an owner: a text may use any of them (docs/guard.md, Names)."""

from __future__ import annotations

import re
from typing import Annotated
from unicodedata import normalize

from pydantic import AfterValidator, Field, StringConstraints

MOST = 16
SPEAKER = "I"
"""The only English pronoun that may be a name: its speaker is then the owner."""
_NAME = re.compile(r"(?=[^\W\d_])[^\W_]+(?:(?:\.? |[.'\-])[^\W_]+)*")
_OF_ANYBODY = frozenset(
    (
        "me my mine myself we us our ours ourselves you your yours yourself he him his himself she"
        " her hers herself it its itself they them their theirs themselves one this that these"
        " those who somebody someone anybody anyone everybody everyone nobody"
    ).split()
)


def normalise_characters(text: str) -> str:
    """A text as names are written: its accents in NFC, and its apostrophes of one shape."""
    return text if text.isascii() else normalize("NFC", text).replace("’", "'")


def _name(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    value = normalise_characters(value)
    if not _NAME.fullmatch(value):
        raise ValueError("is not a name: give words made of letters, such as Ada or the user")
    if value.casefold() in _OF_ANYBODY:
        raise ValueError("could be anybody: the only English pronoun that can name an owner is I")
    return SPEAKER if value == "i" else value


def _several(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(values) == 1:
        raise ValueError("one name alone has no effect: give two or more, or none")
    if len({value.casefold() for value in values}) < len(values):
        raise ValueError("a name is given twice")
    return values


OwnerName = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=100), AfterValidator(_name)
]
OwnerNames = Annotated[tuple[OwnerName, ...], Field(max_length=MOST), AfterValidator(_several)]
