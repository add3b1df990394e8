"""The words of a text as a dictionary has them: Chinese, Japanese, Korean, and what is attached.

Runs of these scripts are taken apart by Lindera, whose dictionaries are in its package (the extra
`cjk`): deterministic, and the same on every machine. Particles and endings are left out, verbs and
adjectives stand in their base form. Of other words, elided articles (*l'école*) and endings behind
an apostrophe (*Ankara'da*) are left out, and a dotted capital I is an i.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, Final

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.search.content import HAN, KANA, STOPWORDS

_HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_RUN = re.compile(
    rf"(?P<korean>[{_HANGUL}]+)|(?P<unspaced>[{HAN}{KANA}]+)|(?P<word>[^\W_{HAN}{KANA}{_HANGUL}]+(?:['’][^\W_]+)*)"
)
_HAS_KANA = re.compile(f"[{KANA}]")
_ELIDED = re.compile(
    "(?:[ldjmtscn]|qu|jusqu|lorsqu|puisqu|dell|all|dall|nell|sull|quell|un|gl)['’]"
)
_NEGATIONS: Final = frozenset({"ない", "ぬ", "ん"})
"""Auxiliaries of Japanese that are kept: without them, a text says the contrary."""
_REMEMBERED = 1024


@lru_cache(maxsize=_REMEMBERED)
def morphemes(text: str) -> tuple[str, ...]:
    """The words of a text, in order; UsageError if the extra is not installed."""
    _library()
    return tuple(word for word in _words(plain(text)) if word not in STOPWORDS)


def plain(text: str) -> str:
    """In compatible forms and small letters, a dotted I as any other."""
    return unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")


def _words(text: str) -> Iterator[str]:
    for run in _RUN.finditer(text):
        match run.lastgroup:
            case "korean":
                yield from _korean(run[0])
            case "unspaced":
                take_apart = _japanese if _HAS_KANA.search(text) else _chinese
                yield from take_apart(run[0])
            case _:
                word = _ELIDED.sub("", run[0], count=1)
                yield re.split("['’]", word, maxsplit=1)[0]


def _korean(run: str) -> Iterator[str]:
    """Without particles (J), endings (E) and suffixes (X); of an inflected word, its stem."""
    for token in _tokenizer("ko-dic")(run):
        tag, stem = token.details[0], token.details[-1].split("/")[0]
        if tag[0] not in "JEX":
            yield stem if "+" in tag and stem != "*" else token.surface


def _japanese(run: str) -> Iterator[str]:
    for token in _tokenizer("ipadic")(run):
        kind, base = token.details[0], token.details[6] if len(token.details) > 6 else "*"
        word = token.surface if base == "*" else base
        if kind != "助詞" and (kind != "助動詞" or word in _NEGATIONS):
            yield word


def _chinese(run: str) -> Iterator[str]:
    for token in _tokenizer("cc-cedict")(run):
        yield token.surface


@cache
def _tokenizer(dictionary: str) -> Callable[[str], list[Any]]:
    """Loads a dictionary once: .5 to 2.5 s, and about 130 MB."""
    library = _library()
    tokenizer = library.Tokenizer(library.load_dictionary(f"embedded://{dictionary}"))
    tokenise: Callable[[str], list[Any]] = tokenizer.tokenize
    return tokenise


def _library() -> Any:
    try:
        import lindera
    except ImportError:
        raise UsageError(
            "the tokenizer `morphemes` of the policy needs: pip install 'palimpsest-memory[cjk]'"
        ) from None
    return lindera
