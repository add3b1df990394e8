"""Splits a text into its tokens as written, by which pairs are compared; nothing is left out.

A chunk between spaces is a word or a plain number, with the marks beside it, or a single token that
is compared character by character: a path, a command, an identifier, a version, a sum, a time or an
emoticon.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from palimpsest.streams.guard.data.en import ABBREVIATIONS


class Kind(StrEnum):
    """The kind of a token."""

    WORD = "word"
    NUMBER = "number"
    SIGN = "sign"
    CODE = "code"


WORD, NUMBER, SIGN, CODE = Kind
PLAIN = frozenset({WORD, SIGN})


class TextToken(NamedTuple):
    """A token as written, except for the shape of its quotes and apostrophes."""

    text: str
    kind: Kind
    opens: bool
    """Whether a sentence begins with it."""


LONGEST_KEPT = 40
"""Maximum length of a chunk whose tokens are cached; longer chunks rarely occur again."""

STOPS = frozenset(".。．｡।۔")
"""Full stops of all scripts."""
_ENDS = STOPS | frozenset("!?")
_MARKS = ".,;:!?。．｡।۔"
_BEFORE = "\"'(“‘«„¿¡"
_CLOSING = "\"')”’»"
_AFTER = _MARKS + "\"')”’»…"
_CODE = re.compile(r"^[-.~](?!\d)|[/\\_*{}=<>|`()\[\];]|\$[A-Za-z]")
QUOTES = frozenset('"«»')
"""Quotation marks as tokens have them: one shape for all but the French ones."""
_APOSTROPHES = str.maketrans("’‘ʼ´", "''''")
_QUOTES = str.maketrans("’‘“”„", '\'\'"""')
_WORD = re.compile(r"[^\W\d_]+(?:['\-][^\W\d_]+)*")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_INVISIBLE = re.compile("[\u200b\ufeff\u00ad\u200e\u200f\u061c]")
_SPACES = re.compile(r"\s+")
_INDENTED = re.compile(r"[\n\r][ \t]+\S|\t")


def plain(text: str) -> str:
    """The text in NFC, trimmed, without invisible characters; nothing else is changed."""
    if text.isascii():
        return text.strip()
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).strip()


def tokenise(text: str) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """The tokens of a text as written, and the kind of each; linear in its length."""
    texts: list[str] = []
    kinds: list[Kind] = []
    for chunk in text.split():
        if chunk.isalpha():
            texts.append(chunk)
            kinds.append(WORD)
        else:
            take_apart = _kept_apart if len(chunk) <= LONGEST_KEPT else _taken_apart
            more, of = take_apart(chunk)
            texts += more
            kinds += of
    return tuple(texts), tuple(kinds)


def openers_of(texts: Sequence[str], kinds: Sequence[Kind]) -> frozenset[int]:
    """The places of tokens that begin a sentence, including the signs before its first word."""
    starts = [0]
    if not _ENDS.isdisjoint(texts[:-1]):
        for at, text in enumerate(texts):
            if text in _ENDS and kinds[at] is SIGN and not _is_abbreviation(texts, at):
                starts.append(at + 1)
    found: set[int] = set()
    for start in starts:
        for at in range(start, len(texts)):
            if at in found:
                break
            found.add(at)
            if kinds[at] is not SIGN:
                break
    return frozenset(found)


def layout(text: str, kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The white space of a text if it matters, as in code; empty if it is plain or irrelevant.

    In other texts only a line break without punctuation before it matters: it may separate the
    items of a list. It is represented by the word after it.
    """
    if CODE not in kinds and not _INDENTED.search(text):
        return _breaks(text)
    spaces = tuple(_SPACES.findall(text))
    return () if set(spaces) <= {" "} else spaces


def _breaks(text: str) -> tuple[str, ...]:
    """The words that begin a line if no mark of punctuation ends the line before."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    return tuple(
        line.split()[0].casefold()
        for before, line in pairwise(lines)
        if unicodedata.category(before.rstrip(_CLOSING)[-1:] or "a") != "Po"
    )


def has_inner_capital(text: str) -> bool:
    """Whether any letter but the very first may be a capital; False is certain."""
    if not text.isascii():
        return True
    goes_on = text[1:2].isalpha() or text[1:2] == " "
    return not (text.islower() or (goes_on and text[1:].islower()))


def is_code(written: str) -> bool:
    """Whether a token that is compared as written looks like a path, an option or code."""
    return bool(_CODE.search(written))


def _taken_apart(chunk: str) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """The tokens of a chunk between spaces."""
    if chunk[-1] in _MARKS and chunk[:-1].isalpha():
        return (chunk[:-1], chunk[-1]), (WORD, SIGN)
    start, end = len(chunk) - len(chunk.lstrip(_BEFORE)), len(chunk.rstrip(_AFTER))
    word, kind = chunk[start:end].translate(_APOSTROPHES), WORD
    if start == end or not _is_word(word):
        start = 0
        end = len(chunk) - (len(chunk) > 1 and chunk[-1] in _MARKS and _closes(chunk[-2]))
        word = chunk[:end]
        kind = NUMBER if _NUMBER.fullmatch(word) else CODE
    before, after = chunk[:start].translate(_QUOTES), chunk[end:].translate(_QUOTES)
    return (*before, word, *after), (*[SIGN] * len(before), kind, *[SIGN] * len(after))


_kept_apart = lru_cache(maxsize=8_192)(_taken_apart)


def _is_word(written: str) -> bool:
    if _WORD.fullmatch(written):
        return True
    letters = (c for c in written if not unicodedata.category(c).startswith("M"))
    return not written.isascii() and bool(_WORD.fullmatch("".join(letters)))


def _closes(character: str) -> bool:
    return character.isalnum() or character in ")%"


def _is_abbreviation(texts: Sequence[str], at: int) -> bool:
    """Whether the full stop at a place belongs to the word before it."""
    before = texts[at - 1] if at else ""
    return texts[at] == "." and (
        before.casefold() in ABBREVIATIONS or (len(before) == 1 and before.isupper())
    )
