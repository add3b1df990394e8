"""Rewrites a text that is not English to what it says holds now, for frames only.

*Früher wohnte ich in Paris, jetzt wohne ich in Rom* is read as *Ich wohne in Rom*, and 我搬到罗马了
as 我住在罗马, so that a change shares its frame with what held before. It joins nothing.
"""

from __future__ import annotations

import re

from palimpsest.streams.guard.data.language_table import HAN, KANA
from palimpsest.streams.guard.data.present_words import (
    CHINESE_LEADS_TO,
    CHINESE_NOW,
    GERMAN_NOW,
    GERMAN_SUBJECT,
    GERMAN_VERB,
    JAPANESE_LEADS_TO,
    JAPANESE_NOW,
    JOINING,
    LEADS_TO,
    MOVED,
    NOW,
)

_MARKS = frozenset(
    word + sign for word in {*NOW.split("|"), *MOVED} for sign in ("", ",", ".", "!")
)
_BEFORE = re.compile(rf".*(?:[,;] (?=[^,;]*\b(?i:{NOW})\b)|\. (?=(?i:{NOW})\b))")
_BEGINS = re.compile(rf"(?i:(?:(?:{JOINING}) )?(?:{NOW})),? ")
_TURNED = re.compile(
    rf"(?i:(?:(?:{JOINING}) )?(?:{GERMAN_NOW})) ({GERMAN_VERB}) ({GERMAN_SUBJECT})"
)
_LEADS = [(re.compile(told), state) for told, state in LEADS_TO.items()]
_KANA, _KANA_OR_HAN = re.compile(f"[{KANA}]"), re.compile(f"[{KANA}{HAN}]")
_CHINESE_NOW = re.compile(rf"(?:.*[，。；,;])?(.*?)(?:{CHINESE_NOW})，?(.+?)了?")
_CHINESE_LEADS = [(re.compile(told), state) for told, state in CHINESE_LEADS_TO.items()]
_PRONOUNS = ("我", "他", "她")
_JAPANESE_NOW = re.compile(rf"(?:.*[、。])?(.*?)(?:{JAPANESE_NOW})(?:では|は)?、?(.+)")
_JAPANESE_LEADS = [(re.compile(f"{told}$"), state) for told, state in JAPANESE_LEADS_TO.items()]
_STOPS = "。．.!！"
LONGEST = 200
"""Maximum number of characters; a longer text is a story, and finding its words would take the
square of its length.
"""


def as_present(text: str) -> str:
    """A text as it says what holds now; unchanged if it is English, or names no change."""
    if len(text) > LONGEST:
        return text
    if not text.isascii() and _KANA_OR_HAN.search(text):
        return (_japanese if _KANA.search(text) else _chinese)(text)
    if _MARKS.isdisjoint(text.casefold().split()):
        return text  # the usual case
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    if turned := _TURNED.match(text):
        text = f"{_capitalised(turned[2])} {turned[1]}{text[turned.end() :]}"
    elif begins := _BEGINS.match(text):
        text = _capitalised(text[begins.end() :])
    said = text.rstrip(_STOPS)
    for told, state in _LEADS:
        if found := told.fullmatch(said):
            return _capitalised(found.expand(state))
    return text


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _chinese(text: str) -> str:
    said = text.rstrip(_STOPS)
    if now := _CHINESE_NOW.fullmatch(said):
        said = now[1] + now[2]
        if text.startswith(_PRONOUNS) and not said.startswith(_PRONOUNS):
            said = text[0] + said  # only the first clause names the subject
    for told, state in _CHINESE_LEADS:
        if found := told.fullmatch(said):
            return found.expand(state)
    return said


def _japanese(text: str) -> str:
    said = text.rstrip(_STOPS)
    if now := _JAPANESE_NOW.fullmatch(said):
        said = now[1] + now[2]
    for told, state in _JAPANESE_LEADS:
        said = told.sub(state, said)
    return said
