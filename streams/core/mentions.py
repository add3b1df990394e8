"""Whether a text mentions a name or an identifier, by whole words in canonical form.

The canonical form ignores case, invisible characters, compatibility forms, separators inside
identifiers and phone numbers, a leading @ or #, the plus-tag of an address, the scheme of a link, a
possessive, Arabic vowel signs and articles, and Hebrew prefixes before a hyphen (ב-Google). Digits
always count: a number, a version or an identifier with further digits is a different one, and so is
a number in Han numerals. Scripts without spaces match anywhere, but katakana as a whole: アン is
not in アンナ.

The first and the last word of a query also match words that carry an attached prefix or ending:
Korean particles (끝말잇기를), Arabic particles and elided words (لأحمد, l'école), and endings after
an apostrophe. An elided word or a Turkish ending in the query itself is ignored.

A capital I counts as an i, and in Turkish as an ı: ISPARTA matches Isparta and ısparta. A small ı
does not count as an i.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.core.text import visible

_NO_SPACES = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces: words of other scripts end before them (Googleで働く)."""
_IN_WORD = rf"[^\W{_NO_SPACES}]"
_DOMAIN = rf"{_IN_WORD}(?:{_IN_WORD}|-)*"
# An address starts at its first character, a host at a label, and schemes, labels and groups of
# digits are bounded. Otherwise a match is retried at every character: 32 KiB of "x.y." took 20 s.
_TOKEN = compile_later(
    rf"""
      (?P<address>(?:mailto:|(?<!{_IN_WORD})(?<![.%+-]))
        (?:{_IN_WORD}|[.%+-])*{_IN_WORD}@{_DOMAIN}(?:\.{_DOMAIN})+)
    | (?P<link>(?:[a-z][a-z0-9+.-]{{0,40}}://|www\.)[^\s<>"{_NO_SPACES}]+
        | (?<![a-z0-9-])(?:[a-z0-9-]+\.){{1,30}}[a-z]{{2,}}(?:/[^\s<>"{_NO_SPACES}]*)?)
    | (?P<scheme>[a-z][a-z0-9+.-]{{0,40}}://(?=[{_NO_SPACES}]))
    | (?P<sum>(?<![\d.,])\d{{1,3}}(?:(?:\.\d{{3}})+|(?:\ \d{{3}})+),\d+(?![\d,.]\d))
    | (?P<digits>[+(]?\d[\d\s()./-]{{5,60}}\d(?!\d)
        (?:(?!,\d{{1,2}}(?!\d))|(?<=[()/-]\d)|(?<=[()/-]\d\d)|(?<=[()/-]\d\d\d\d)))
    | (?P<number>(?:(?<![\w)])-)?(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)
        | (?<!\d,)\d+,\d+(?!,?\d)|\d+)(?:[.:]\d+)*)
    | (?P<unspaced>[{_NO_SPACES}])
    | (?P<word>[a-z](?:\+\+|\#)(?!{_IN_WORD})
        | (?:[^\W\d_{_NO_SPACES}](?:'(?=[^\W\d_]))?)+)
    """,
    re.VERBOSE,
)
_UNSPACED = compile_later(f"[{_NO_SPACES}]")
_KATAKANA = compile_later(r"[\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff]")
_HAN_UNITS = frozenset("〇零十百千万萬億亿兆")
_HAN_NUMERALS = _HAN_UNITS | frozenset("一二三四五六七八九两兩")
_WEEKDAY = compile_later(r"(?:[周週]|星期|[礼禮]拜)[一二三四五六]")
_AFTER_A_LETTER = frozenset("恤歌光線线超股型盤盘領领輪轮級级")
_IS_LINK = compile_later(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "‐": "-", "‑": "-", "–": "-"})
_ARABIC_SIGNS = dict.fromkeys([*range(0x64B, 0x653), 0x670, 0x640])
"""Vowel signs, and the stroke that lengthens a word."""
_ARABIC_ARTICLE = compile_later(r"[وفبك]?ال(?=\w{3})|[وف]?لل(?=\w{3})")
_HEBREW_PREFIX = compile_later(r"(?<![\w־-])(?:[וש]?[הבכלמ]|[וש]|כש)[-־](?=[^\W\d_]{2})")
"""Prefixes that Hebrew writes with a hyphen before a foreign name. Without a hyphen they may be
part of the word: ועדה means a committee as well as *and Ada*."""
ELIDED = r"(?:[ldjmtscn]|qu|jusqu|lorsqu|puisqu|dell|all|dall|nell|sull|quell|un|gl)'"
"""Elided words of French and Italian."""
_ATTACHED_BEFORE = compile_later(rf"(?P<arabic>[وفبكل]{{1,2}})|{ELIDED}")
"""Conjunctions and prepositions of Arabic, and elided words."""
TURKISH_ENDING = (
    r"'(?:n?[ıiuü]n|[yns]?[ıiuü]|[ns]?[dt][ae]n?|[yn]?[ae]|y?l[ae]|l[ae]r[^\W\d_]{0,4}|l[ıiuü])"
)
"""Cases, and the plural, of a Turkish name."""
_ATTACHED_TO_QUERY = compile_later(
    rf"^\W*{ELIDED}(?=[^\W\d_]{{2}})|(?<=\w){TURKISH_ENDING}(?=\W*$)"
)
_PARTICLES = (
    "들|에서|에게서|에게|께서|께|한테서|한테|에|으로서|으로써|으로|로서|로써|부터|까지|처럼|보다|만큼|마다"
    "|밖에|조차|마저|하고|이랑|라고|이라고|라는|이라는|입니다|이에요|예요|이었다|였다|이다|이고|이며|이나"
    "|을|를|은|는|의|와"
)
_ATTACHED_AFTER = compile_later(
    rf"(?P<particles>(?:{_PARTICLES}){{1,4}})"
    rf"|(?P<ambiguous>(?:{_PARTICLES}|이|가|과|도|로|만|나|랑|뿐|대로){{1,4}})"
    r"|'[^\W\d_]{1,6}"
)
"""Particles of Korean, and endings after an apostrophe, as in Ankara'da.

The ambiguous particles also end many words of two syllables: 도로 is a road, not 도 with 로.
"""
_LINKS = frozenset("-_@&'")
"""Signs that join what stands on both sides into one word."""
_SCHEME = compile_later(r"^(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?")
_GROUPS = compile_later(r"\d+")
_THOUSANDS = compile_later(r"-?\d{1,3}(?:,\d{3})+(?!\d)")
FEWEST_DIGITS = 7
"""The fewest digits of groups that are read as one number, such as a phone number or a date."""


class Words(NamedTuple):
    """The words of a text in canonical form: parts, and whether each begins or ends a word."""

    parts: tuple[str, ...]
    begins: tuple[bool, ...]
    ends: tuple[bool, ...]


def canonical(text: str, *, turkish: bool = False) -> str:
    """The canonical form of a text, including signs and spaces; `turkish`: a capital I is an ı."""
    plain = unicodedata.normalize("NFKC", visible(text))
    if turkish:
        plain = plain.replace("I", "ı")
    plain = plain.casefold().translate(_QUOTES)
    if plain.isascii():
        return plain
    plain = plain.replace("i\u0307", "i").translate(_ARABIC_SIGNS)  # a capital dotted I
    return _HEBREW_PREFIX.sub("", plain)


def asked_of(query: str, *, turkish: bool = False) -> Words:
    """The words of a query, without attached words or endings at its beginning and its end."""
    plain = canonical(query, turkish=turkish)
    return words_of(_ATTACHED_TO_QUERY.sub("", plain) if "'" in plain else plain)


@lru_cache(maxsize=8192)
def words_of(text: str, *, turkish: bool = False) -> Words:
    """The words of a text in canonical form."""
    plain = canonical(text, turkish=turkish)
    parts: list[str] = []
    begins: list[bool] = []
    ends: list[bool] = []
    place, last, apart = 0, 0, False
    while found := _TOKEN.search(plain, place):
        if found.lastgroup == "scheme":
            place = found.end()
            continue
        unspaced, follows = found.lastgroup == "unspaced", last == found.start() > 0
        if unspaced:
            joined = follows and _goes_on(plain, found.start())
        else:
            joined = not apart and bool(parts) and _one_word(plain[last : found.start()])
        made, place = _read(found, alone=not joined)
        is_part = unspaced and follows and begins[-1] and _is_letter_of(parts[-1], made)
        if is_part or (joined and not (follows and _is_particle(made))):
            ends[-1] = False
        parts.append(made)
        begins.append(not joined)
        ends.append(True)
        last, apart = place, unspaced
    return Words(tuple(parts), tuple(begins), tuple(ends))


def _one_word(between: str) -> bool:
    return not between or (len(between) == 1 and between in _LINKS)


def _goes_on(plain: str, at: int) -> bool:
    """Whether a character continues a word of katakana, or a number."""
    before, character = plain[at - 1], plain[at]
    if character not in _HAN_NUMERALS:
        return bool(_KATAKANA.match(character) and _KATAKANA.match(before))
    if before in _HAN_NUMERALS and _HAN_UNITS.isdisjoint((before, character)):
        # 一九九 lists digits; in 张三一直 a name ends, and 三四个 is three or four.
        return not _HAN_NUMERALS.isdisjoint(plain[max(at - 2, 0) : at - 1] + plain[at + 1 : at + 2])
    counts = before in _HAN_NUMERALS or before.isdecimal()
    return counts and not any(_WEEKDAY.fullmatch(plain, at - n, at) for n in (2, 3) if at >= n)


def _is_letter_of(before: str, character: str) -> bool:
    """Whether one letter and the katakana or Han after it are one word: Tシャツ, T恤."""
    fits = character in _AFTER_A_LETTER or _KATAKANA.match(character) is not None
    return len(before) == 1 and "a" <= before <= "z" and fits


def _is_particle(word: str) -> bool:
    found = _ATTACHED_AFTER.fullmatch(word)
    return found is not None and found.lastgroup is not None


def _read(found: re.Match[str], *, alone: bool) -> tuple[str, int]:
    """A token in canonical form, and where the next one may begin; `alone`: it begins a word."""
    token, end = found[0], found.end()
    match found.lastgroup:
        case "address":
            local, _, domain = token.removeprefix("mailto:").partition("@")
            return f"{local.split('+')[0] or local}@{domain}", end
        case "link":
            bare = token.rstrip(".,;:!?)]}'")
            goes_on = _UNSPACED.match(found.string, end)  # /東京, not the end of a path
            link = _SCHEME.sub("", bare)
            return (link if goes_on else link.rstrip("/")) or bare, found.start() + len(bare)
        case "digits":
            return _grouped(token, found.start(), alone=alone)
        case "sum":
            return re.sub("[ .]", "", token), end
        case "number":
            return (token.replace(",", "") if _THOUSANDS.match(token) else token), end
        case "word":
            article = _ARABIC_ARTICLE.match(token)
            return token[article.end() if article else 0 :].removesuffix("'s"), end
        case _:
            return token, end


def _grouped(token: str, start: int, *, alone: bool) -> tuple[str, int]:
    """Groups of digits as one number if they are a phone number or a date, else the first group."""
    groups = _GROUPS.findall(token)
    signs = set(re.sub(r"\d", "", token))
    if sum(map(len, groups)) >= FEWEST_DIGITS and (
        _belong_together(groups, signs) or (alone and signs == {"-"} and _is_local(groups))
    ):
        return "".join(groups), start + len(token)
    first = re.match(r"[+(]?\d+(?:[.:]\d+)*", token)
    assert first is not None
    return first[0].lstrip("+("), start + len(first[0])


def _belong_together(groups: list[str], signs: set[str]) -> bool:
    sizes = [len(group) for group in groups]
    if len(groups) == 1:
        return True
    if signs == {"."}:
        return sizes[-3:] == [3, 3, 4] or (groups[0][0] == "0" and sizes == [2] * 5)
    if "/" in signs:
        return signs == {"/"} and sorted(sizes) in ([1, 1, 4], [1, 2, 4], [2, 2, 4])
    if signs & {"+", "("}:
        return True
    return len(groups) > 2 and max(sizes) <= 4


def _is_local(groups: list[str]) -> bool:
    """Whether groups are a local phone number or one with its prefix; 2019-2020 is neither."""
    sizes = [len(group) for group in groups]
    if sizes == [4, 4]:
        return not all(group[:2] in ("19", "20") for group in groups)
    return sizes == [3, 4] or (len(sizes) == 2 and groups[0][0] == "0" and sizes[1] >= 5)


def mentions(query: str, text: str) -> bool:
    """Whether the words of a query occur in a text, consecutively and as whole words."""
    if not query.isascii() and not _is_whole_link(query, text):
        return False
    if _stand_in(asked_of(query).parts, words_of(text)):
        return True
    may_be_turkish = ("I" in query and "ı" in text) or ("ı" in query and "I" in text)
    return may_be_turkish and _stand_in(
        asked_of(query, turkish=True).parts, words_of(text, turkish=True)
    )


def _is_whole_link(query: str, text: str) -> bool:
    """Whether a query is no link, or stands in a text without more of a path or a host around it.

    Where scripts without spaces go on, it cannot be told whether the link does.
    """
    link = canonical(query).strip()
    if _UNSPACED.search(link) is None or _IS_LINK.fullmatch(link) is None:
        return True
    bare = _SCHEME.sub("", link).rstrip("/")
    more = rf"/?\w|[{_NO_SPACES}]" if _UNSPACED.match(bare[-1]) else rf"{_IN_WORD}|/\w"
    whole = rf"(?<!\w){re.escape(bare)}(?!{more}|[?#&=%]\w)"
    return re.search(whole, canonical(text)) is not None


def _stand_in(needle: tuple[str, ...], there: Words) -> bool:
    size = len(needle)
    return size > 0 and any(
        there.begins[start]
        and there.ends[start + size - 1]
        and _is_asked(needle[0], there.parts[start], before=True, after=size == 1)
        and _is_asked(needle[-1], there.parts[start + size - 1], before=size == 1, after=True)
        for start in _starts(needle, there.parts)
    )


def _is_asked(asked: str, word: str, *, before: bool, after: bool) -> bool:
    """Whether a word is the one asked for, possibly with something attached."""
    if word == asked:
        return True
    if not before or not word.endswith(asked):
        attached = None
    else:
        attached = _ATTACHED_BEFORE.fullmatch(word, 0, len(word) - len(asked))
    if attached is not None:
        return len(asked) >= (3 if attached["arabic"] else 2)
    if not after or not word.startswith(asked):
        return False
    attached = _ATTACHED_AFTER.fullmatch(word, len(asked))
    return attached is not None and (len(asked) > 1 or attached["particles"] is not None)


def _starts(needle: tuple[str, ...], parts: tuple[str, ...]) -> Iterable[int]:
    """The places where a needle may begin: where all but its first and last parts occur."""
    inner = needle[1:-1]
    if not inner:
        return range(len(parts) - len(needle) + 1)
    ends = _ends(inner, parts[1:])
    return (end - len(inner) for end in ends if end + 1 < len(parts))


def _ends(needle: tuple[str, ...], parts: tuple[str, ...]) -> Iterator[int]:
    """The end of each occurrence of a needle, by the search of Knuth, Morris and Pratt."""
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
    """For each prefix of a needle, the length of its longest border (proper prefix and suffix)."""
    borders = [0]
    for part in needle[1:]:
        length = borders[-1]
        while length and needle[length] != part:
            length = borders[length - 1]
        borders.append(length + (needle[length] == part))
    return borders
