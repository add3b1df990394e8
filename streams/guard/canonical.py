"""From marked words to the terms that carry the meaning, with the places where a text can be cut.

The stream holds content terms and cuts. A cut is ``|`` (a clause begins), ``,`` or ``&`` (a list
goes on). Whatever is neither is left out because it never changes the meaning.
"""

from __future__ import annotations

from streams.guard.lexicon import ARTICLES, PUNCTUATION, STATIVE, STOPS
from streams.guard.synonyms import EQUIVALENTS, PHRASES, VERBS

CUTS = frozenset("|,&")
"""The terms of a stream that are no content."""

_SILENT = ""
_SPECIAL: dict[str, str] = (
    dict.fromkeys(PUNCTUATION, "|")
    | dict.fromkeys("-–—‐‑'\"`´‘’“”*_", _SILENT)
    | dict.fromkeys(ARTICLES | STATIVE, _SILENT)
    | dict.fromkeys(STOPS, "|")
    | {",": ",", "、": ",", "and": "&", "but": "&"}
)
_MEANING = EQUIVALENTS | _SPECIAL
_BE = frozenset("is are has was will can would should had did does do".split())


def stream_of(marked: list[str]) -> list[str]:
    """The content terms of marked words in order, each by its canonical word, and the cuts."""
    stream: list[str] = []
    at = 0
    while at < len(marked):
        word = marked[at]
        if word in PHRASES and (found := _phrase(marked, at)):
            term, at = found
        else:
            term = _MEANING.get(word, word)
            at += 1
            if word in _CONTEXT:
                term = _in_context(word, term, marked, at)
        if term:
            stream.append(term)
    return stream


_CONTEXT = frozenset({"do", "does", "while", "whilst", "user"})


def _in_context(word: str, term: str, marked: list[str], at: int) -> str:
    following = marked[at] if at < len(marked) else ""
    if word == "user":
        return _SILENT if _opens(marked, at - 1) and _is_finite(following) else term
    if word in {"do", "does"}:
        return _SILENT if following == "not" else term
    return "|" if following.endswith("ing") else term


def _opens(marked: list[str], at: int) -> bool:
    before = at - 1
    if before >= 0 and marked[before] == "the":
        before -= 1
    return before < 0 or marked[before] in {".", "!", "?"}


def _is_finite(word: str) -> bool:
    return word in _BE or (word.endswith("s") and EQUIVALENTS.get(word, "") in VERBS)


def _phrase(marked: list[str], at: int) -> tuple[str, int] | None:
    for rest, replacement in PHRASES[marked[at]]:
        end = at + 1
        for word in rest:
            if end < len(marked) and marked[end] == "-":
                end += 1
            if end >= len(marked) or marked[end] != word:
                break
            end += 1
        else:
            return replacement, end
    return None
