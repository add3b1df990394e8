"""French and Spanish texts in the words of their owner's name, for frames; it joins nothing.

*J'habite à Rome* is read as *Ada habite à Rome*, *vivo en Roma* as *Ana vive en Roma*, and *mon
loyer* and *le loyer d'Ada* alike. Such a reading may be wrong.
"""

from __future__ import annotations

import re

from palimpsest.streams.guard.data.value_words import THIRD_SPANISH, third_french

_JE = re.compile(r"(?:je |j')(ne |n')?(me |m')?([^\W\d_]+)(.*)", re.IGNORECASE | re.DOTALL)
_YO = re.compile(r"(?:yo )?(no )?(me )?([^\W\d_]+)(.*)", re.IGNORECASE | re.DOTALL)
_MINE = {
    "je": re.compile(r"(?:mon|ma|mes) ", re.IGNORECASE),
    "yo": re.compile(r"(?:mi|mis) ", re.IGNORECASE),
}
_OF = {
    "je": (r"(?:le |la |les |l')", r"(?:de |d')"),
    "yo": (r"(?:el |la |los |las )", r"(?:de |del )"),
}
_NOUN = r"([^\W\d_][\w-]*(?: [^\W\d_][\w-]*)?) "


def of_owner(said: str, who: str, names: tuple[str, ...]) -> str | None:
    """A text about the owner with `who` as its subject or possessor.

    None if the names have neither *je* nor *yo*, or if nothing of the owner is read at its start.
    """
    mine = next((name for name in map(str.casefold, names) if name in _MINE), None)
    if mine is None:
        return None
    if own := _MINE[mine].match(said):
        noun, _, rest = said[own.end() :].partition(" ")
        return f"{noun} de {who} {rest}"
    others = "|".join(re.escape(name) for name in names if name.casefold() != mine)
    article, of = _OF[mine]
    if others and (owned := re.match(rf"{article}{_NOUN}{of}(?:{others}) ", said, re.IGNORECASE)):
        return f"{owned[1]} de {who} {said[owned.end() :]}"
    if others and (named := re.match(rf"(?:{others}) ", said, re.IGNORECASE)):
        return f"{who} {said[named.end() :]}"
    spoken = (_JE if mine == "je" else _YO).fullmatch(said)
    if spoken is None:
        return None
    no, me, verb, rest = spoken.groups("")
    third = third_french(verb) if mine == "je" else THIRD_SPANISH.get(verb.casefold())
    if third is None:
        return None
    oneself = "" if not me else "s'" if me.endswith("'") else "se "
    return f"{who} {no}{oneself}{third}{rest}"
