"""Splits a message into sentences and recognises questions, to find memories without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data.patterns import any_of
from palimpsest.streams.guard.data.tables import BUILT_IN

_BREAK = compile_later(r"(?<=[.!?؟])\s+|(?<=[。！？])(?![」』）”！？])|\n+")
_ABBREVIATIONS = (
    "approx aprox bspw bzw ca d.h dr dra e.g env evtl exkl geb ggf hr i.d.r i.e inkl mlle mme"
    " mr mrs ms nr núm p.ej prof sog sr sra st str tel u.a vgl vs z.b zzgl"
).split()
"""A full stop after one of these does not end a sentence; at worst, two sentences stay together."""
_OF_ORDINALS = (
    "(?<!i )am|ab|bis|das|dem|den|der|des|die|im|jede[nrs]?|meine?n?|seit|und|unsere?n?|vom|zum|zur"
)
_GOES_ON = compile_later(
    rf"(?:^|[^\w.])(?:{any_of(_ABBREVIATIONS)}|(?!i\b)[^\W\d_]"
    rf"|\b(?:{_OF_ORDINALS}) (?:\d{{1,2}}\. ?)?\d{{1,2}})\.$"
)
"""The end of a part whose sentence goes on: *z.B.*, an initial or an ordinal (*am 3.*)."""
_LONGEST_END = 24
"""Maximum number of characters of such an end."""
_NEXT = compile_later(r"[^\W\d_]+")
_ENDS_IN_A_DAY = compile_later(r"(?<![\w.,])\d{1,2}\.$")
_ASKS = compile_later(
    r"""[?？؟][^\w?？؟.。"'”’»」』)）]*$|(?:です|でした|ます|ました|ません|でしょう|ましょう)か[。．.!！…]*$"""
    r"|[吗嗎][。.!！…]*$|(?:습|입|합)니까[.!…]*$"
)
"""How a question ends: Japanese, Chinese and formal Korean ask with or without a question mark."""
_OPENERS = (
    "what where when who whose which why how do does did am is are was were can could should shall"
    " will would may have has wo wann wer wie warum welche welcher welches welchem welchen bin ist"
    " sind habe hat kann où quand qui que quoi comment pourquoi quel quelle quels quelles est-ce"
    " qu'est-ce qu’est-ce dónde cuándo quién qué cómo cuál"
).split()
_IN_THE_PAST = (
    r"(?!(?:bleed|breed|embed|exceed|feed|need|proceed|shed|shred|succeed|speed|weed)\b)"
    r"(?:\w+ed|became|began|bought|broke|built"
    "|came|caught|fell|felt|fought|found|gave|got|grew|had|hurt|left|lost|made|met|quit"
    "|ran|sold|spent|taught|told|took|went|won|wrote)"
)
_WITH_BIN = (
    "begegnet entkommen erschienen ertrunken geblieben gedrungen geeilt gefahren gefallen"
    " geflogen geflohen gegangen gekommen gelandet gelaufen gerannt gereist geritten gerutscht"
    " geschlafen geschwommen gesegelt gesprungen gestanden gestartet gestiegen gestolpert gestorben"
    " gestürzt getreten gewachsen gewacht gewandert gewesen geworden gezogen"
    " verschwunden verstorben"
).split()
"""How participles end that tell with *bin* what has happened; *verabredet bin* is how it is."""
_IN_RAR = (
    "aceler aclar admir alter ampar aspir compar consider cooper cuadr declar deliber dispar enter"
    " enumer esper estir exager gener gir inspir liber mir moder oper par persever prepar prosper"
    " recuper reiter repar respir retir separ super suspir taladr tir toler vir"
).split()
"""Verbs of which *-é* is the past, although it sounds like a future: *preparé*, not *lavaré*."""
_PRESUPPOSED = rf"""(?x:
    (?:how|when)\ (?:I|we|(?:my|our)\ \w+)\ (?:\w+ly\ |first\ |just\ )?{_IN_THE_PAST}\b
    | (?:wann|wie)\ (?:ich|wir|(?:mein|unser)\w{{0,2}}\ \w+)\ (?:.{{1,80}}\ )?
        (?:(?-i:(?!geboren|geöffnet)(?:[^\W\dA-ZÄÖÜ]{{0,12}}ge\w{{2,12}}
                |(?:ab|an|aus|ein|vor)?(?:be|ent|er|ver|zer|unter|über|wieder)\w{{1,12}})(?:en|t)
            |[^\W\dA-ZÄÖÜ]{{2,14}}iert)\ (?:habe|haben|hat)
        |(?!angezogen|ausgeschlafen)\w{{0,8}}(?:{any_of(_WITH_BIN)})\ (?:bin|sind|ist))\b
    | (?:comment|quand)\ (?:(?:j['’]ai|nous\ avons)\ (?:\w+ment\ )?(?!(?:aussi|congé|droit|peu)\b)
            (?:\w+(?:é|i|u|it|ert|int)|\w*[mr]is)
        |je\ me\ suis\ \w+|je\ suis\ (?:\w+ment\ )?(?:allé|arrivé|devenu|entré|monté|parti
            |passé|rentré|resté|retourné|revenu|sorti|tombé|venu)e?)\ \w
    | (?:cómo|cuándo)\ (?:me\ )?(?:anduve|conduje|dije|estuve|fui|hice|pude|puse|quise|supe
        |traje|tuve|vi|vine)\ \w
    | (?:cómo|cuándo)\ (?:me\ )?
        (?!(?:ahí|allí|aquí|así|esté|nací|sé)\b)
        (?!(?!(?:{any_of(_IN_RAR)})é\b)(?:\w*[aeid]ré|(?:cab|hab|quer|sab)ré)\b)\w+[éí]\ \w
)"""
"""What is left of such a question without its *how* or *when* has happened: *I lost my job*.

Not *how I cut an onion*, which may ask for advice, nor a future: *cuándo volveré a casa*.
"""
_ONLY_ASKS = compile_later(
    rf"\W*(?:{any_of(_OPENERS)})\b"
    r"(?!.*(?:,|\b(?:I['’](?:m|ve)|I am|(?:that|because|since) (?:I|we|my|our)|remember|know)\b"
    rf"|\b(?:recall|tell me) {_PRESUPPOSED}))"
    r"|(?!.*(?:[记記]住|覚えて[おくも]|기억))[^，,、]*(?:什么|什麼|哪|谁|誰|怎|几|吗|嗎"
    r"|何|どこ|いつ|だれ|どう|どんな|なぜ|か[。？?]|뭐|무엇|어디|언제|누구|어떻게|왜|까[.？?])",
    re.IGNORECASE,
)
"""How a question begins that states nothing, unlike *I live in Rome, where should I eat?*"""
_FEW_WORDS = r"(?:\ [^\W\d]\S*){1,5}\s?[?？]"
_ASKS_FOR_KNOWLEDGE = compile_later(
    rf"""\W*(?:
        (?:do|can|could)\ you\ (?:still\ )?(?:know|remember|recall|tell\ me)\ (?!{_PRESUPPOSED})(?:
            (?!.*\b(?:after|because|now|since|that)\b)(?:how|what|when|where|which|who|whose){_FEW_WORDS}
            | my\ \w+\s?[?])
        | (?:wei(?:ß|ss)t|kennst)\ du(?:\ noch)?,?
            \ (?!{_PRESUPPOSED})(?:wann|was|welche\w*|wer|wie|wo){_FEW_WORDS}
        | (?:tu\ sais|sais-tu|vous\ savez|savez-vous)
            \ (?!{_PRESUPPOSED})(?:ce\ que|comment|où|quand|quel\w*|qui){_FEW_WORDS}
        | (?:sabes|recuerdas)\ (?!{_PRESUPPOSED})(?:cómo|cuál|cuándo|dónde|qué|quién){_FEW_WORDS}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a short question begins for what the other may know (*Do you know who I am?*), not why.

One that tells in passing what has happened (*Do you know how I lost my job?*) states it.
"""


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text as written; the full stop of *Dr.* or a date does not end one."""
    text = text.strip()
    start = 0
    for found in _BREAK.finditer(text):
        end = found.start()
        last = text[max(start, end - _LONGEST_END) : end]
        if "\n" in found[0] or not _goes_on(last, text, found.end()):
            yield text[start:end]
            start = found.end()
    if start < len(text):
        yield text[start:]


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _ASKS.search(sentence) is not None


def only_asks(sentence: str) -> bool:
    """Whether a sentence is a question that states nothing: it begins as such questions do."""
    return asks(sentence) and any(
        begin.match(sentence) is not None for begin in (_ONLY_ASKS, _ASKS_FOR_KNOWLEDGE)
    )


def _goes_on(end: str, text: str, at: int) -> bool:
    """Whether a sentence goes on at a place of the text, if its part before that has this end."""
    end = end.casefold()
    if _GOES_ON.search(end) or (end.endswith(" i.") and text.startswith("d. ", at)):
        return True
    follows = _NEXT.match(text, at)
    of_a_month = follows is not None and follows[0].casefold() in BUILT_IN.months
    return of_a_month and _ENDS_IN_A_DAY.search(end) is not None
