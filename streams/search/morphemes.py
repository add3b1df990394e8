"""The words of a text in dictionary form, also in Chinese, Japanese and Korean.

Jaccard compares them if a policy says so; `find` and recall by words use them if the extra is
installed.

Runs of these scripts are segmented by Lindera, whose dictionaries are in its package (the extra
`cjk`), so the result is the same on every machine. Particles and endings are left out; verbs and
adjectives are in their base form. In other scripts, elided articles (*l'école*) and endings after
an apostrophe (*Ankara'da*) are left out, and a dotted capital I becomes an i.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import require_extra
from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.core.mentions import ELIDED
from palimpsest.streams.search.content import HAN, KANA, STOPWORDS

HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_RUN = compile_later(
    rf"(?P<korean>[{HANGUL}]+)|(?P<unspaced>[{HAN}{KANA}]+)|(?P<word>[^\W_{HAN}{KANA}{HANGUL}]+(?:['’][^\W_]+)*)"
)
CJK = compile_later(f"[{HAN}{KANA}{HANGUL}]+")
UNSPACED = compile_later(f"[{HAN}{KANA}]")
HAN_CHARACTER = compile_later(f"[{HAN}]")
_KANA = compile_later(f"[{KANA}]")
_HIRAGANA = compile_later("[\u3041-\u309f]+")
_UNIT = compile_later(rf"\d[{HAN}][\u3041-\u309f]")
_NUMERAL = compile_later("[〇零一二三四五六七八九十百千万萬億亿兆两兩]+")
"""What a dictionary takes for one number: it reads 五十 in 周五十点."""
_ELIDED = compile_later(ELIDED.replace("'", "['’]"))
_NEGATIONS: Final = frozenset({"ない", "ぬ", "ん"})
"""Japanese auxiliaries that are kept: without them, a text would say the opposite."""
_REMEMBERED = 1024


class Morpheme(NamedTuple):
    """A word of a text, and its place in `plain(text)`."""

    base: str
    """Its dictionary form."""
    as_written: bool
    """Whether the text has it in this form, not inflected."""
    start: int
    end: int


@lru_cache(maxsize=_REMEMBERED)
def morphemes(text: str) -> tuple[str, ...]:
    """The words of a text except stopwords, in order.

    Raises UsageError if the extra is not installed, whatever the script.
    """
    _library()
    return tuple(word.base for word in morphemes_of(text) if word.base not in STOPWORDS)


def morphemes_of(text: str, *, japanese: bool | None = None) -> Iterator[Morpheme]:
    """The words of a text, in order; Chinese, Japanese and Korean need the extra.

    Han is read as Japanese if the text has kana, or as `japanese` says.
    """
    text = plain(text)
    japanese = has_kana(text) if japanese is None else japanese
    for run in _RUN.finditer(text):
        match run.lastgroup:
            case "korean":
                yield from _korean(run[0], run.start())
            case "unspaced":
                take_apart = _japanese if japanese else _chinese
                yield from take_apart(run[0], run.start())
            case _:
                word = re.split("['’]", _ELIDED.sub("", run[0], count=1), maxsplit=1)[0]
                yield Morpheme(word, word == run[0], *run.span())


def plain(text: str) -> str:
    """The text in compatibility forms and lower case, with a dotted capital I as *i*."""
    return unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")


def has_kana(text: str) -> bool:
    """Whether a text has kana, so that it is certainly Japanese."""
    return _KANA.search(text) is not None


@cache
def are_installed() -> bool:
    """Whether the extra with the dictionaries is installed."""
    try:
        _library()
    except UsageError:
        return False
    return True


def _korean(run: str, start: int) -> Iterator[Morpheme]:
    """The words without particles (J), endings (E) and suffixes (X); inflected words as stems."""
    for token, begin, end in _tokens("ko-dic", run, start):
        tag, stem = token.details[0], token.details[-1].split("/")[0]
        if tag[0] not in "JEX":
            inflected = "+" in tag and stem != "*"
            yield Morpheme(stem if inflected else token.surface, not inflected, begin, end)


def _japanese(run: str, start: int) -> Iterator[Morpheme]:
    for token, begin, end in _tokens("ipadic", run, start):
        kind, base = token.details[0], token.details[6] if len(token.details) > 6 else "*"
        word = token.surface if base == "*" else base
        if kind != "助詞" and (kind != "助動詞" or word in _NEGATIONS):
            yield Morpheme(word, word == token.surface, begin, end)


def _chinese(run: str, start: int) -> Iterator[Morpheme]:
    for token, begin, end in _tokens("cc-cedict", run, start):
        yield Morpheme(token.surface, True, begin, end)


def _tokens(dictionary: str, run: str, start: int) -> Iterator[tuple[Any, int, int]]:
    """The tokens of a run that begins at `start`, with the place of each."""
    for token in _tokenizer(dictionary)(run):
        yield token, start, start + len(token.surface)
        start += len(token.surface)


@cache
def _tokenizer(dictionary: str) -> Callable[[str], list[Any]]:
    """Load a dictionary, once: about .5 s, and 45 (Chinese) to 240 MB (Korean)."""
    library = _library()
    tokenizer = library.Tokenizer(library.load_dictionary(f"embedded://{dictionary}"))
    tokenise: Callable[[str], list[Any]] = tokenizer.tokenize
    return tokenise


def cuts_words(query: str, text: str, words: Sequence[Morpheme]) -> bool:
    """Whether every match of a query cuts a word of Chinese or Japanese, like 京都 in 東京都.

    `words` are the text's. A match inside a single word cuts none, like 空港 in 関西国際空港,
    unless hiragana goes on: みか in みかん. A dictionary may join a unit to its particle: 3時に.
    """
    asked, there = plain(query).strip(), plain(text)
    places = [found.span() for found in re.finditer(re.escape(asked), there)] if asked else []
    if not places or UNSPACED.search(asked) is None:
        return False
    stretches = [
        (word.start, word.end)
        for word in words
        if _UNIT.fullmatch(there, max(word.start - 1, 0), word.end) is None
        and _NUMERAL.fullmatch(there, word.start, word.end) is None
    ]
    return all(
        any(_crosses(place, stretch) for stretch in stretches)
        or (_HIRAGANA.fullmatch(asked) and any(_is_part(place, word, there) for word in stretches))
        for place in places
    )


def _is_part(place: tuple[int, int], word: tuple[int, int], text: str) -> bool:
    """Whether a word has more hiragana beside this place."""
    (start, end), (first, last) = place, word
    more = text[max(start - 1, first) : start] + text[end : min(end + 1, last)]
    return first <= start and end <= last and _HIRAGANA.search(more) is not None


def _crosses(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two ranges overlap, and neither contains the other."""
    (a, b), (c, d) = sorted((one, other))
    return a < c < b < d


def _library() -> Any:
    with require_extra("the policy's tokenizer `morphemes`", "cjk"):
        import lindera

        return lindera
