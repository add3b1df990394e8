"""From marked words to the terms that carry the meaning, with the places where a text can be cut.

The stream holds content terms and cuts. A cut is ``|`` (a clause begins), ``=`` (what follows says
what the clause's noun is or is called), ``,`` or ``&`` (a list goes on). Whatever is neither is
left out because it never changes the meaning.
"""

from __future__ import annotations

from palimpsest.streams.guard.lexicon import ARTICLES, PUNCTUATION, STATIVE, STOPS
from palimpsest.streams.guard.synonyms import EQUIVALENTS, PHRASES, VERBS

LINK = "="
"""The cut between a noun and what it is or is called."""

CUTS = frozenset({"|", ",", "&", LINK})
"""The terms of a stream that are no content."""

_SILENT = ""
_SPECIAL: dict[str, str] = (
    dict.fromkeys(PUNCTUATION, "|")
    | dict.fromkeys("-–—‐‑'\"`´‘’“”*_", _SILENT)
    | dict.fromkeys(ARTICLES | STATIVE, _SILENT)
    | dict.fromkeys(STOPS, LINK)
    | {",": ",", "、": ",", "and": "&", "but": "&"}
)
_MEANING = EQUIVALENTS | _SPECIAL
_WATCHED = PHRASES.keys() | {"do", "does", "while", "whilst", "user"}
_BE = frozenset("is are has was will can would should had did does do".split())


def stream_of(marked: list[str]) -> list[str]:
    """The content terms of marked words in order, each by its canonical word, and the cuts."""
    stream: list[str] = []
    at = 0
    while at < len(marked):
        word = marked[at]
        if word in _WATCHED:
            term, at = term_at(marked, at)
        else:
            term = _MEANING.get(word, word)
            at += 1
        if term:
            stream.append(term)
    return stream


def term_at(marked: list[str], at: int) -> tuple[str, int]:
    """The term of the word or phrase that begins at ``at``, empty if it is silent, and its end."""
    return _phrase(marked, at) or _in_context(marked[at], marked, at)


def _in_context(word: str, marked: list[str], at: int) -> tuple[str, int]:
    term = _MEANING.get(word, word)
    following = marked[at + 1] if at + 1 < len(marked) else ""
    if word == "user":
        term = _SILENT if _opens(marked, at) and _is_finite(following) else term
    elif word in {"do", "does"}:
        term = _SILENT if following == "not" else term
    elif word in {"while", "whilst"}:
        term = "|" if following.endswith("ing") else term
    return term, at + 1


def _opens(marked: list[str], at: int) -> bool:
    before = at - 1
    if before >= 0 and marked[before] == "the":
        before -= 1
    return before < 0 or marked[before] in {".", "!", "?"}


def _is_finite(word: str) -> bool:
    return word in _BE or (word.endswith("s") and EQUIVALENTS.get(word, "") in VERBS)


def _phrase(marked: list[str], at: int) -> tuple[str, int] | None:
    for rest, replacement in PHRASES.get(marked[at], ()):
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
