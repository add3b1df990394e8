"""How a text that is not English says what holds now; it joins nothing.

The guard's hash does not cover these words: decisions record the candidates found by them.
"""

from __future__ import annotations

GERMAN_NOW = "jetzt|inzwischen|mittlerweile|derzeit|momentan"
"""Words for *now* behind which the verb stands before its subject."""

NOW = GERMAN_NOW + "|maintenant|désormais|dorénavant|actuellement|ahora|actualmente"
"""Words for *now* in German, French and Spanish."""

JOINING = "und|aber|sondern|et|mais|y|pero"
"""Words between a clause about the past and one that begins with *now*."""

GERMAN_VERB = r"(?!(?:an|auf|aus|bei|für|im|in|mit|nach|seit|um|von|zu) )[a-zäöü]+"
GERMAN_SUBJECT = (
    r"(?:ich|du|er|sie|es|wir|ihr)\b|(?:(?:der|die|das|mein|meine|sein|seine|ihr|ihre|unser|unsere)"
    r" )?[A-ZÄÖÜ]\w*"
)
"""What follows *now*: a verb, and a subject of one noun."""

_PLACE = r"([A-ZÄÖÜÉ]\S*(?: [A-ZÄÖÜÉ]\S*)*)"

LEADS_TO = {
    rf"(.+) bin (?:[^,]+ )?nach {_PLACE} (?:um)?gezogen": r"\1 wohne in \2",
    rf"(.+) ist (?:[^,]+ )?nach {_PLACE} (?:um)?gezogen": r"\1 wohnt in \2",
    rf"(.+) sind (?:[^,]+ )?nach {_PLACE} (?:um)?gezogen": r"\1 wohnen in \2",
    rf"J'ai (?:récemment )?(?:dé|em)ménagé (?:de \S+ )?(à|en|au) {_PLACE}": r"J'habite \1 \2",
    rf"(.+) a (?:récemment )?(?:dé|em)ménagé (?:de \S+ )?(à|en|au) {_PLACE}": r"\1 habite \2 \3",
    rf"Me (?:he mudado|mudé) (?:de \S+ )?a {_PLACE}": r"Vivo en \1",
    rf"(.+ )?[Ss]e (?:ha mudado|mudó) (?:de \S+ )?a {_PLACE}": r"\1vive en \2",
}
"""Patterns for a move, with what holds afterwards."""

MOVED = frozenset("gezogen umgezogen déménagé emménagé mudado mudé mudó".split())
"""The verbs of these patterns."""

CHINESE_NOW = "现在|如今|目前"
_LATELY = "(?:上个?月|上周|去年|今年)?(?:已经|刚刚?|最近)?"
CHINESE_LEADS_TO = {
    rf"(.*?){_LATELY}搬家?[到去]了?(.+?)了?": r"\1住在\2",
    rf"(.*?){_LATELY}跳槽到了?(.+?)了?": r"\1在\2工作",
}

JAPANESE_NOW = "今(?![年日週度朝月回夜後晩])|いまは|現在"
JAPANESE_LEADS_TO = {
    "に引っ?越し(?:た|ました|ています|ている)": "に住んでいる",
    "に転職し(?:た|ました)": "で働いている",
    "います": "いる",
}
"""Patterns for the end of a text, politeness included, with what holds then."""
