"""How a text says what holds now, and what held before; it joins nothing.

Of English, only pairs of clauses with one subject are read here; `state` has the other rules.
The guard's hash does not cover these words: decisions record the candidates found by them. The
lists are closed: a text with any other word around them stays as it is.
"""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import HAN

GERMAN_NOW = "jetzt|inzwischen|mittlerweile|derzeit|momentan"
"""Words for *now*, after which the verb stands before its subject."""

NOW = GERMAN_NOW + "|maintenant|désormais|dorénavant|actuellement|ahora|actualmente"
"""Words for *now* in German, French and Spanish."""

ENGLISH_NOW = "now|currently|nowadays"
"""The same in English: only a clause after one about the past loses them."""

ENDED = frozenset("longer anymore more used".split())
"""Words of English clauses about the past."""

JOINING = "und|aber|sondern|et|mais|y|pero|and|but|instead"
"""Words between a clause about the past and the one about the present."""

_WORD = r"[^\s,;:.?!]+"
_NAME = r"[A-ZÄÖÜÉ][^\s,;:.?!]*(?: [A-ZÄÖÜÉ][^\s,;:.?!]*)*"

GERMAN_VERB = r"(?!(?:an|auf|aus|bei|für|im|in|mit|nach|seit|um|von|zu) )[a-zäöü]+"
GERMAN_SUBJECT = (
    r"(?:ich|du|er|sie|es|wir|ihr)\b|(?:(?:der|die|das|mein|meine|sein|seine|ihr|ihre|unser|unsere)"
    r" )?[A-ZÄÖÜ]\w*\b(?! [A-ZÄÖÜ])"
)
"""What follows *now*: a verb, and a subject of one noun."""

_GERMAN = (
    r"(?:(?i:ich|du|er|sie|wir|ihr)|(?i:(?:der|die|das|mein|meine|sein|seine|ihr|ihre|unser|unsere)"
    rf" )?{_NAME})"
)
_FRENCH = rf"(?:(?i:il|elle|on)|(?i:mon|ma|son|sa|le|la) {_WORD}|{_NAME})"
_SPANISH = rf"(?:(?i:yo|él|ella)|(?i:mi|su|el|la) {_WORD}|{_NAME})"

_ENGLISH = rf"(?:(?i:he|she|we|they)|(?i:my|his|her|our|the) {_WORD}|{_NAME})"

_REST = rf"(?: (?!(?:{JOINING}|dass|que|that)\b){_WORD}){{0,5}}"
_GERMAN_WAS = "(?:wohnt|lebt|arbeitet|studiert)en?|fuhr(?:en)?"
_GERMAN_IS = "(?:wohn|leb|arbeit|studier)(?:e|t|et|en)|fahren?|fährt"
_FRENCH_WAS = (
    "(?:habit|viv|travaill|étudi)ai[st]|(?:ai|a) (?:longtemps )?(?:habité|vécu|travaillé|étudié)"
)
_SPANISH_WAS = "viví|vivía|vivió|trabaj(?:aba|é|ó)|estudi(?:aba|é|ó)"
_SPANISH_IS = "viv[oe]|trabaj[oa]|estudi[oa]"
_FRENCH_BEFORE, _SPANISH_BEFORE = "avant|autrefois|auparavant", "antes|hasta hace poco"
_ENGLISH_IS = "live|work|study|drive"
WAS = (
    rf"({_ENGLISH}) no longer (?:(?:{_ENGLISH_IS})s?|studies){_REST}",
    rf"({_ENGLISH}) (?:do|does)(?:n't| not) (?:{_ENGLISH_IS}){_REST} any ?(?:more|longer)",
    rf"({_ENGLISH}) used to (?:{_ENGLISH_IS}){_REST}",
    rf"(?i:früher|vorher|zuvor|bis vor kurzem) (?:{_GERMAN_WAS}) ({_GERMAN}){_REST}",
    rf"({_GERMAN}) (?:{_GERMAN_WAS}){_REST}",
    rf"({_GERMAN}) (?:{_GERMAN_IS}) nicht mehr{_REST}",
    rf"({_GERMAN}) (?:habe|hat|haben){_REST} (?:gewohnt|gelebt|gearbeitet|studiert)",
    rf"(?:(?i:{_FRENCH_BEFORE}),? )?((?i:je\b|j')|{_FRENCH}) ?(?:{_FRENCH_WAS}){_REST}",
    rf"((?i:je\b)|{_FRENCH}) n(?:'|e )(?:habite|vi[st]|travaille|étudie) plus{_REST}",
    rf"(?:(?i:{_SPANISH_BEFORE}),? )?(?:({_SPANISH}) )?(?i:{_SPANISH_WAS}){_REST}",
    rf"(?:({_SPANISH}) )?(?i:ya no) (?:{_SPANISH_IS}){_REST}",
)
"""Clauses that say what was so, each with its subject; only Spanish leaves it out."""
SPANISH_IS = f"(?i:{_SPANISH_IS}) "
"""A clause about the present whose subject is left out."""

_LATELY = "gerade|kürzlich|neulich|vor kurzem|letzten Monat|letzte Woche"
_NO_PLACE = (
    "Weihnachten|Ostern|Pfingsten|Neujahr|Silvester|Hause|Jahren|Monaten|Wochen|Noël|Pâques"
    "|Janvier|Février|Mars|Avril|Mai|Juin|Juillet|Août|Septembre|Octobre|Novembre|Décembre"
)
_PLACE = rf"((?!(?:{_NO_PLACE})\b){_NAME})"
_GERMAN_WAY = rf"(?:(?:{_LATELY}|{GERMAN_NOW}) )?(?:von {_WORD} )?nach"
_FRENCH_WAY = rf"(?:récemment )?(?:dé|em)ménagé (?:de {_WORD} )?(à|en|au)"
_SPANISH_WAY = rf"(?:de {_WORD} )?a"

LEADS_TO = {
    rf"([Ii]ch) bin {_GERMAN_WAY} {_PLACE} (?:um)?gezogen": r"\1 wohne in \2",
    rf"({_GERMAN}) ist {_GERMAN_WAY} {_PLACE} (?:um)?gezogen": r"\1 wohnt in \2",
    rf"({_GERMAN}) sind {_GERMAN_WAY} {_PLACE} (?:um)?gezogen": r"\1 wohnen in \2",
    rf"[Jj]'ai {_FRENCH_WAY} {_PLACE}": r"J'habite \1 \2",
    rf"({_FRENCH}) a {_FRENCH_WAY} {_PLACE}": r"\1 habite \2 \3",
    rf"[Mm]e (?:he mudado|mudé) {_SPANISH_WAY} {_PLACE}": r"Vivo en \1",
    rf"({_SPANISH} )?[Ss]e (?:ha mudado|mudó) {_SPANISH_WAY} {_PLACE}": r"\1vive en \2",
}
"""Patterns for a move, with what holds afterwards."""

_SUM = r"(\d[^a-zäöüß]*(?: ?(?:Euro|euros|Franken|Kilo|kilos|kg))?)"
LEADS_TO |= {
    rf"({_GERMAN}) (?:ist|wurde) (?:von [^a-z]+ )?auf {_SUM}"
    " (?:gestiegen|gesunken|erhöht|gesenkt)": r"\1 beträgt \2",
    rf"({_FRENCH}) (?:est (?:pass|mont)ée?|a (?:augmenté|baissé)) (?:de [^a-zà]+ )?à {_SUM}": (
        r"\1 est de \2"
    ),
    rf"({_SPANISH}) (?:ha (?:subido|bajado|aumentado|pasado)|subió|bajó|aumentó|pasó)"
    rf" (?:de [^a-z]+ )?a {_SUM}": r"\1 es de \2",
    r"((?i:mein|sein|ihr)e?) neuer? ([A-ZÄÖÜ]\w+ (?:ist|heißt|lautet|beträgt) .+)": r"\1 \2",
    r"((?i:mon|ma|son|sa)) (?:nouveau|nouvel|nouvelle) (\w+ (?:est|s'appelle) .+)": r"\1 \2",
    r"((?i:mi|su)) nuev[oa] (\w+ (?:es|se llama) .+)": r"\1 \2",
}
"""What a sum has risen or fallen to, and what is new, is what holds now."""

MOVED = frozenset(
    "gezogen umgezogen déménagé emménagé mudado mudé mudó gestiegen gesunken erhöht gesenkt passé"
    " passée monté montée augmenté baissé subido bajado aumentado pasado subió bajó aumentó pasó"
    " neue neuer nouveau nouvel nouvelle nuevo nueva".split()
)
"""The words of these patterns that show that one may match."""

_SIGNS = r"，。；、：！？,;:!?\s"
_CHINESE_NOUN = (
    rf"[^我你您他她的没不未非差前后时年月日曾想要会将如若说快打算划备定几乎可\d{_SIGNS}]"
)
_CHINESE = rf"((?:[我你您他她](?:的?{_CHINESE_NOUN}{{1,4}}?)??|{_CHINESE_NOUN}{{2,4}}?)??)"
_CHINESE_WAS = (
    rf"(?:(?:以前|之前|原来|从前|曾经?)(?:一直)?(?:住|在)|(?:已经|早就)?不再?(?:住|在))[^{_SIGNS}]+"
)
CHINESE_NOW = (
    rf"(?:{_CHINESE}{_CHINESE_WAS}[，。；,;](?:但是?|不过)?)?{_CHINESE}(?:现在|如今|目前)，?(?![的起])"
    r"(.+?)了?"
)
"""Its groups: the subject of a clause about the past, that of the clause after it, and its rest."""
CHINESE_PRONOUNS = ("我", "你", "您", "他", "她")
_CHINESE_LATELY = "(?:上个?月|上周|今年)?(?:已经|刚刚?|最近)?"
_CHINESE_PLACE = rf"([^我你您他她的没不未失前后时吗是{_SIGNS}]{{2,8}}?)"
CHINESE_LEADS_TO = {
    rf"{_CHINESE}{_CHINESE_LATELY}搬家?[到去]了?{_CHINESE_PLACE}了?": r"\1住在\2",
    rf"{_CHINESE}{_CHINESE_LATELY}跳槽到了?{_CHINESE_PLACE}了?": r"\1在\2工作",
    r"([^没未不会要想将，。]{2,12}?)(?:已经)?[涨升降跌][到至了](每[月年天周])?(\d[^，。]*?)了?": (
        r"\1是\2\3"
    ),
    r"([我你您他她]的?|[^我你您他她，。]{2,4}的)新([^的，。]{1,4}[是叫][^，。]+)": r"\1\2",
}

_FORMERLY = "以前|前|昔|かつて|もともと|元々"
_TOPIC = rf"((?!(?:{_FORMERLY})は)[^、。は\s]{{1,12}}は)?、?"
_JAPANESE_WAS = (
    rf"(?:(?:(?:{_FORMERLY})(?:は|、)*)?[^、。]*(?:住んで|働いて|勤めて|暮らして)い(?:た|ました)"
    "(?:が|けど|けれども?|のですが|んですが)?|[^、。]*(?:辞めて|引っ?越して|転職して))"
)
JAPANESE_NOW = rf"(?:{_TOPIC}{_JAPANESE_WAS}[、。])?{_TOPIC}(?:今|いま|現在)(?:では|は|、)、?(.+)"
"""The same in Japanese; 今 without a particle may begin a name (今村) or a word (今年)."""
_JAPANESE_WAY = (
    r"((?:[^、。はが\s]{1,12}[はが])?)、?(?:[^、。はがに\s]+から)?([^、。はがに年前\s]+)"
)
_ICHIDAN = (
    "起き|生き|でき|飽き|尽き|過ぎ|落ち|満ち|似|浴び|伸び|延び|滅び|降り|借り|足り|懲り|試み|省み"
    "|用い|率い|強い|老い|悔い"
)
"""Stems in i of verbs that keep them before *ru*: 起きます is 起きる, but 行きます is 行く."""
_GODAN = {"き": "く", "ぎ": "ぐ", "ち": "つ", "に": "ぬ", "び": "ぶ", "み": "む", "り": "る"}
_POLITE = {
    r"(.*)あります": r"\1ある",
    rf"(.*(?:{_ICHIDAN}|[えけげじせぜてでねへべめれ]))ます": r"\1る",
    **{rf"(.*){stem}ます": rf"\1{plain}" for stem, plain in _GODAN.items()},
    rf"(.*[はがをにでも][{HAN}])します": r"\1す",
    r"(.*)します": r"\1する",
    rf"(.*[{HAN}])います": r"\1う",
    r"(.*)います": r"\1いる",
    rf"(.*[{HAN}])ます": r"\1る",
    r"(.*い)です": r"\1",
    r"(.*)です": r"\1だ",
}
"""Polite endings as plain ones: 飲みます is 飲む. Some may be wrong, but they join nothing."""
JAPANESE_LEADS_TO = {
    rf"{_JAPANESE_WAY}に引っ?越し(?:た|ました|ています|ている)": r"\1\2に住んでいる",
    rf"{_JAPANESE_WAY}に転職し(?:た|ました)": r"\1\2で働いている",
    r"([^、。がは]{1,14})[がは](\d[^、。]*?)に(?:なっ|上がっ|下がっ|変わっ)た": r"\1は\2だ",
    r"([^、。がは]{1,14})[がは](\d[^、。]*?)に(?:なり|上がり|下がり|変わり)ました": r"\1は\2だ",
    **{
        rf"((?:[^、。]+の)?)新しい([^、。がの]{{1,8}}は[^、。]+?){end}": rf"\1\2{plain}"
        for end, plain in (("です", "だ"), ("だ", "だ"))
    },
    **_POLITE,
}
"""Patterns for a whole text, polite forms included, with what holds then."""
