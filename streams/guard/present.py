"""Rewrites a text that tells of a change to state what holds now; for frames only.

*Früher wohnte ich in Paris, jetzt wohne ich in Rom* is read as *Ich wohne in Rom*, and 我搬到罗马了
as 我住在罗马, so that a change shares its frame with what held before. Of English, only pairs of
clauses are rewritten here; `state` does the rest. A text in doubt stays as it is: no subject is
dropped, and no clause that may deny or attribute the rest.
"""

from __future__ import annotations

import re

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data.language_table import HAN, KANA
from palimpsest.streams.guard.data.present_words import (
    CHINESE_LEADS_TO,
    CHINESE_NOW,
    CHINESE_PRONOUNS,
    ENDED,
    ENGLISH_NOW,
    GERMAN_NOW,
    GERMAN_SUBJECT,
    GERMAN_VERB,
    JAPANESE_LEADS_TO,
    JAPANESE_NOW,
    JOINING,
    LEADS_TO,
    MOVED,
    NOW,
    SPANISH_IS,
    WAS,
)
from palimpsest.streams.guard.text import korean
from palimpsest.streams.guard.turned import capitalised

_MARKS = frozenset(
    word + sign for word in {*NOW.split("|"), *MOVED, *ENDED} for sign in ("", ",", ".", "!")
)
_WAS = [compile_later(f"{clause}[,;.] (?:(?:{JOINING}) )?") for clause in WAS]
_BEGINS = compile_later(rf"(?i:(?:(?:{JOINING}) )?(?:{NOW})),? ")
_BEGINS_IN_ENGLISH = compile_later(rf"(?i:{ENGLISH_NOW}),? ")
_TURNED = compile_later(
    rf"(?i:(?:(?:{JOINING}) )?(?:{GERMAN_NOW})) ({GERMAN_VERB}) ({GERMAN_SUBJECT})"
)
_SPANISH_IS = compile_later(SPANISH_IS)


def _compiled(leads_to: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(compile_later(told), state) for told, state in leads_to.items()]


_LEADS, _CHINESE_LEADS, _JAPANESE_LEADS = map(
    _compiled, (LEADS_TO, CHINESE_LEADS_TO, JAPANESE_LEADS_TO)
)
_KANA, _KANA_OR_HAN = compile_later(f"[{KANA}]"), compile_later(f"[{KANA}{HAN}]")
_CHINESE_NOW, _JAPANESE_NOW = compile_later(CHINESE_NOW), compile_later(JAPANESE_NOW)
_STOPS = "。．.!！"
LONGEST = 200
"""Maximum number of characters; a longer text is a story, and matching the patterns would take time
quadratic in its length.
"""


def as_present(text: str) -> str:
    """Rewrite a text to state what holds now; its sense stays if it tells of no change."""
    if len(text) > LONGEST:
        return text
    if not text.isascii() and korean.HANGUL.search(text):
        return korean.as_present(text)
    if not text.isascii() and _KANA_OR_HAN.search(text):
        return (_japanese if _KANA.search(text) else _chinese)(text)
    if _MARKS.isdisjoint(text.casefold().split()):
        return text  # the usual case
    return _led_to(_LEADS, _without_past(text))


def _without_past(text: str) -> str:
    """The clause about the present, if one about its subject's past precedes it; else the text.

    Both lose a word for *now* that they begin with.
    """
    for was in _WAS:
        if before := was.match(text):
            now = _begun(_BEGINS_IN_ENGLISH.sub("", text[before.end() :], count=1))
            if _is_about(before[1], now):
                return capitalised(now)
    return _begun(text)


def _begun(text: str) -> str:
    """A text without the word for *now* that it begins with."""
    if turned := _TURNED.match(text):
        return f"{capitalised(turned[2])} {turned[1]}{text[turned.end() :]}"
    begins = _BEGINS.match(text)
    return capitalised(text[begins.end() :]) if begins else text


def _is_about(who: str | None, text: str) -> bool:
    if who is None:
        return _SPANISH_IS.match(text) is not None
    low = who.casefold()
    return text.casefold().startswith(("je ", "j'") if low in ("je", "j'") else f"{low} ")


def _led_to(leads: list[tuple[re.Pattern[str], str]], text: str) -> str:
    """What a change such as a move led to; the text itself if it tells of none."""
    said = text.rstrip(_STOPS)
    for told, state in leads:
        if found := told.fullmatch(said):
            return capitalised(found.expand(state))
    return text


def _chinese(text: str) -> str:
    said = text.rstrip(_STOPS)
    if now := _CHINESE_NOW.fullmatch(said):
        was, who, rest = now.groups("")
        said = rest if not who and rest.startswith(CHINESE_PRONOUNS) else (who or was) + rest
    return _led_to(_CHINESE_LEADS, said)


def _japanese(text: str) -> str:
    said = text.rstrip(_STOPS)
    if now := _JAPANESE_NOW.fullmatch(said):
        was, who, rest = now.groups("")
        said = (who or was) + rest  # only the first clause may name the subject
    return _led_to(_JAPANESE_LEADS, said)
