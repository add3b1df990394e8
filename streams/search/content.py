"""The content words of a text, as the design `layered` compares them (docs/designs/layered.md).

They are the words between white space in lower case, without closed-class words and names of
categories.
Chinese and Japanese, which have no white space, are segmented by BudouX, which is deterministic:
its model is a file in the package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Final

STOPWORDS: Final = frozenset(
    "的 了 在 是 把 被 给 和 与 从 到 也 都 就 对 又 所 而 且 但 或 "
    "a an the is are was were be to of and in for on with "
    "preference constraint decision observation code config pattern "
    "architecture root_cause tradeoff revert".split()
)
"""As listed in the design; names of categories say nothing about a memory's topic."""

HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA = r"\u3040-\u30ff\u31f0-\u31ff"
_UNSPACED = re.compile(rf"([{HAN}{KANA}]+)")
_HAS_KANA = re.compile(rf"[{KANA}]")
_TERM = re.compile(r"[^\W_]+")
_REMEMBERED = 1024


@lru_cache(maxsize=_REMEMBERED)
def content_tokens(text: str) -> frozenset[str]:
    """The distinct content words; empty if a text has none."""
    return frozenset(_words(text)) - STOPWORDS


@lru_cache(maxsize=_REMEMBERED)
def terms(text: str) -> tuple[str, ...]:
    """Terms of a text for full-text search: letters and digits of its content words, in order."""
    content = (word for word in _words(text) if word not in STOPWORDS)
    return tuple(term for word in content for term in _TERM.findall(word))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of the words of both sets that they have in common; 0 if both are empty."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def _words(text: str) -> Iterator[str]:
    lowered = text.lower().replace("i\u0307", "i")  # a capital dotted I
    for word in lowered.split():
        if _UNSPACED.search(word) is None:
            yield word
        else:
            segment = _segmenter(_HAS_KANA.search(lowered) is not None)
            for part in _UNSPACED.split(word):
                if _UNSPACED.fullmatch(part):
                    yield from segment(part)
                elif _TERM.search(part):
                    yield part


@cache
def _segmenter(japanese: bool) -> Callable[[str], list[str]]:
    import budoux

    if japanese:
        return budoux.load_default_japanese_parser().parse
    return budoux.load_default_simplified_chinese_parser().parse
