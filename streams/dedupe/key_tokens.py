"""The words of a memory that say what it is about: without stopwords, in their plain form."""

from __future__ import annotations

from palimpsest.streams.guard import tokens

STOPWORDS = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself he him his"
    " himself she her hers herself it its itself they them their theirs themselves this that"
    " these those who whom whose which what where when why how a an the and or but nor so"
    " yet if then else than because as until while of at by for with about against between"
    " into through during before after above below to from up down in out on off over under"
    " again further once here there all any both each few more most other some such no not"
    " only own same too very can could may might must shall should will would is am are was"
    " were be been being have has had having do does did doing done just also ever never"
    " always often still now get gets got let lets say says said tell tells told one two"
    " really quite much many lot like user".split()
)
"""Closed-class words of English, and what every memory says (`user`, `said`)."""

_ENDINGS = ("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("s", "")
"""Plurals and third persons; the first ending that fits, of words of more than three letters."""


def key_tokens(text: str) -> frozenset[str]:
    """The key tokens of a text: casefolded words, numbers and names, none of them a stopword."""
    return frozenset(_plain(token) for token in tokens(text) if token not in STOPWORDS)


def _plain(token: str) -> str:
    if len(token) > 3 and token.isascii() and token.isalpha() and not token.endswith(("ss", "us")):
        for ending, instead in _ENDINGS:
            if token.endswith(ending):
                return token.removesuffix(ending) + instead
    return token
