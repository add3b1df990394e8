"""Whether a text mentions a name or an identifier: whole words in canonical form, nothing learned.

Canonical: case, compatibility forms, separators inside identifiers and phone numbers, a leading @
or #, the plus-tag of an address, the scheme of a link and a possessive do not count. Digits always
do: a number, a version or an identifier that goes on is another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# An address begins where its characters do, a host with a label, and schemes, labels and groups of
# digits have a bound: tried again at every character of 32 KiB of "x.y.", they took 20 s.
_TOKEN = re.compile(
    r"""
      (?P<address>(?:mailto:|(?<![\w.%+-]))[\w.%+-]*\w@\w[\w-]*(?:\.\w[\w-]*)+)
    | (?P<link>(?:[a-z][a-z0-9+.-]{0,40}://|www\.)[^\s<>"]+
        | (?<![a-z0-9-])(?:[a-z0-9-]+\.){1,30}[a-z]{2,}(?:/[^\s<>"]*)?)
    | (?P<digits>[+(]?\d[\d\s()./-]{5,60}\d(?!\d))
    | (?P<number>(?:(?<![\w)])-)?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:[.:]\d+)*)
    | (?P<unspaced>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf]
        | [\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])
    | (?P<word>[a-z](?:\+\+|\#)(?!\w) | (?:[^\W\d_](?:'(?=[^\W\d_]))?)+)
    """,
    re.VERBOSE,
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "‐": "-", "‑": "-", "–": "-"})
_LINKS = frozenset("-_@&'")
"""Signs that make one word of what stands on both sides of them."""
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?")
_GROUPS = re.compile(r"\d+")
FEWEST_DIGITS = 7
"""Of a number in groups that is read as one, such as a phone's or a date."""


class Words(NamedTuple):
    """A text as its words in canonical form: parts, and where a whole word begins and ends."""

    parts: tuple[str, ...]
    begins: tuple[bool, ...]
    ends: tuple[bool, ...]


def canonical(text: str) -> str:
    """A text as `words_of` and `mentions` compare it, signs and spaces included."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)


@lru_cache(maxsize=8192)
def words_of(text: str) -> Words:
    """The words of a text in canonical form."""
    plain = canonical(text)
    parts: list[str] = []
    begins: list[bool] = []
    ends: list[bool] = []
    place, last, apart = 0, 0, False
    while found := _TOKEN.search(plain, place):
        made, place = _read(found)
        unspaced = found.lastgroup == "unspaced"
        joined = not (unspaced or apart) and bool(parts) and _one_word(plain[last : found.start()])
        if joined:
            ends[-1] = False
        parts.append(made)
        begins.append(not joined)
        ends.append(True)
        last, apart = place, unspaced
    return Words(tuple(parts), tuple(begins), tuple(ends))


def _one_word(between: str) -> bool:
    return not between or (len(between) == 1 and between in _LINKS)


def _read(found: re.Match[str]) -> tuple[str, int]:
    """A token in canonical form, and where the next may begin."""
    token, end = found[0], found.end()
    match found.lastgroup:
        case "address":
            local, _, domain = token.removeprefix("mailto:").partition("@")
            return f"{local.split('+')[0] or local}@{domain}", end
        case "link":
            bare = token.rstrip(".,;:!?)]}'")
            return _SCHEME.sub("", bare).rstrip("/") or bare, found.start() + len(bare)
        case "digits":
            return _grouped(token, found.start())
        case "number":
            return token.replace(",", ""), end
        case "word":
            return token.removesuffix("'s"), end
        case _:
            return token, end


def _grouped(token: str, start: int) -> tuple[str, int]:
    """Groups of digits as one number, if they are a phone's or a date; else the first of them."""
    groups = _GROUPS.findall(token)
    signs = set(re.sub(r"\d", "", token))
    if sum(map(len, groups)) >= FEWEST_DIGITS and _belong_together(groups, signs):
        return "".join(groups), start + len(token)
    first = re.match(r"[+(]?\d+(?:[.:]\d+)*", token)
    assert first is not None
    return first[0].lstrip("+("), start + len(first[0])


def _belong_together(groups: list[str], signs: set[str]) -> bool:
    sizes = [len(group) for group in groups]
    if len(groups) == 1:
        return True
    if signs == {"."}:
        return sizes[-3:] == [3, 3, 4]
    if "/" in signs:
        return signs == {"/"} and sorted(sizes) in ([1, 1, 4], [1, 2, 4], [2, 2, 4])
    if signs & {"+", "("}:
        return True
    return len(groups) > 2 and max(sizes) <= 4


def mentions(query: str, text: str) -> bool:
    """Whether the words of a query stand in a text, one after the other and as whole words."""
    needle, there = words_of(query).parts, words_of(text)
    size = len(needle)
    return size > 0 and any(
        there.begins[end - size] and there.ends[end - 1] for end in _ends(needle, there.parts)
    )


def _ends(needle: tuple[str, ...], parts: tuple[str, ...]) -> Iterator[int]:
    """Behind each place where the parts of a needle stand: Knuth, Morris and Pratt's search."""
    borders = _borders(needle)
    matched = 0
    for at, part in enumerate(parts, 1):
        while matched and (matched == len(needle) or needle[matched] != part):
            matched = borders[matched - 1]
        matched += needle[matched] == part
        if matched == len(needle):
            yield at


@lru_cache(maxsize=256)
def _borders(needle: tuple[str, ...]) -> list[int]:
    """For each beginning of a needle, how long the longest is that it also ends with."""
    borders = [0]
    for part in needle[1:]:
        length = borders[-1]
        while length and needle[length] != part:
            length = borders[length - 1]
        borders.append(length + (needle[length] == part))
    return borders
