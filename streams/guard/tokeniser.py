"""From a text to its tokens as written: a pair is compared by these, and nothing is left out.

What stands between spaces is a word or a plain number with the marks beside it, or else one token
that is compared character by character: a path, a command, an identifier, a version, a sum, a time,
an emoticon.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from palimpsest.streams.guard.data.en import ABBREVIATIONS


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    NUMBER = "number"
    SIGN = "sign"
    CODE = "code"


class Token(NamedTuple):
    """A token as written, but for the shape of its quotes and apostrophes."""

    text: str
    kind: Kind
    start: int
    """Where it begins in the text."""
    opens: bool
    """Whether a sentence begins with it."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


STOPS = frozenset(".。．｡।۔")
"""Full stops of all scripts."""
_ENDS = STOPS | frozenset("!?")
_MARKS = ".,;:!?。．｡।۔"
_BEFORE = "\"'(“‘«„¿¡"
_AFTER = _MARKS + "\"')”’»…"
_CODE = re.compile(r"^[-.~](?!\d)|[/\\_*{}=<>|`()\[\];]|\$[A-Za-z]")
_APOSTROPHES = str.maketrans("’‘ʼ´", "''''")
_QUOTES = str.maketrans("’‘“”„", '\'\'"""')
_CHUNK = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]+(?:['\-][^\W\d_]+)*")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_INVISIBLE = re.compile("[\u200b\ufeff\u00ad\u200e\u200f\u061c]")
_SPACES = re.compile(r"\s+")
_INDENTED = re.compile(r"[\n\r][ \t]+\S|\t")


def plain(text: str) -> str:
    """The text in NFC, trimmed, without characters that nobody sees; nothing else is changed."""
    if text.isascii():
        return text.strip()
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).strip()


def tokenise(text: str) -> list[Token]:
    """The tokens of a text in order; linear in its length."""
    found: list[Token] = []
    opens, word = True, Kind.WORD
    for chunk in _CHUNK.finditer(text):
        written, start = chunk[0], chunk.start()
        if written.isalpha():
            found.append(Token(written, word, start, opens))
            opens = False
            continue
        for part, kind, at in _taken_apart(written):
            found.append(Token(part, kind, start + at, opens))
            if kind is Kind.SIGN:
                opens = opens or (part in _ENDS and not _is_abbreviation(found))
            else:
                opens = False
    return found


def layout(text: str, tokens: list[Token]) -> tuple[str, ...]:
    """The white space of a text where it counts, as in code; empty where it is plain or free."""
    if not (_INDENTED.search(text) or any(token.kind is Kind.CODE for token in tokens)):
        return ()
    spaces = tuple(_SPACES.findall(text))
    return () if set(spaces) <= {" "} else spaces


def is_code(written: str) -> bool:
    """Whether a token that is compared as it is looks like a path, an option or code."""
    return bool(_CODE.search(written))


def _taken_apart(chunk: str) -> Iterator[tuple[str, Kind, int]]:
    """The tokens of what stands between two spaces, each with where it begins."""
    if chunk[-1] in _MARKS and chunk[:-1].isalpha():
        yield chunk[:-1], Kind.WORD, 0
        yield chunk[-1], Kind.SIGN, len(chunk) - 1
        return
    start, end = len(chunk) - len(chunk.lstrip(_BEFORE)), len(chunk.rstrip(_AFTER))
    word = chunk[start:end].translate(_APOSTROPHES)
    if start < end and _is_word(word):
        yield from _signs(chunk, 0, start)
        yield word, Kind.WORD, start
        yield from _signs(chunk, end, len(chunk))
        return
    end = len(chunk) - (len(chunk) > 1 and chunk[-1] in _MARKS and _closes(chunk[-2]))
    kind = Kind.NUMBER if _NUMBER.fullmatch(chunk, 0, end) else Kind.CODE
    yield chunk[:end], kind, 0
    yield from _signs(chunk, end, len(chunk))


def _signs(chunk: str, start: int, end: int) -> Iterator[tuple[str, Kind, int]]:
    for at in range(start, end):
        yield chunk[at].translate(_QUOTES), Kind.SIGN, at


def _is_word(written: str) -> bool:
    if _WORD.fullmatch(written):
        return True
    letters = (c for c in written if not unicodedata.category(c).startswith("M"))
    return not written.isascii() and bool(_WORD.fullmatch("".join(letters)))


def _closes(character: str) -> bool:
    return character.isalnum() or character in ")%"


def _is_abbreviation(tokens: list[Token]) -> bool:
    """Whether the full stop at the end belongs to the word before it."""
    before = tokens[-2].text if len(tokens) > 1 else ""
    return tokens[-1].text == "." and (
        before.casefold() in ABBREVIATIONS or (len(before) == 1 and before.isupper())
    )
