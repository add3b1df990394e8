"""Rewrites a text that tells of a change to state what holds now; for frames only.

*I'm using fish these days* is read as *I use fish*, and *I got promoted to team lead* as *I am team
lead*, so that a change shares its frame with what held before (docs/guard.md, Frames).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data.change_words import LEADS_TO, SINCE
from palimpsest.streams.guard.data.name_words import THIRD

LONGEST = 200
"""Maximum number of characters of a text whose clauses are statements; a longer one is a story."""
FEWEST = 3
"""Minimum number of words of a clause that states something."""
_BETWEEN = compile_later(
    r"(?:[,;:]|(?<=[a-z]{4})[.!])? (?:so|and|but|because) |[,;] |(?<=[a-z]{4})[.!] "
)
_TIME = compile_later(
    rf"^(?:{SINCE}),? |,? (?:{SINCE}|(?:as of|since) [^,;:0-9]+?)(?=[.!]?$)", re.IGNORECASE
)
_DOING = compile_later(r" (?:is|are) ([a-z]+ing)(?= [^ ])")
_LEADS = [(compile_later(rf" (?:{told})(?= )"), f" {state}") for told, state in LEADS_TO.items()]
_EMPLOYER = "'s employer is "
_DOUBLED = compile_later(r"[^aeiou]*[aeiou][^aeiouwxy]")
_MAY_DOUBLE = compile_later(r".*[^aeiou][aeiou][^aeiouwxy]")
_ONE_CLAUSE = compile_later(r"[^,;:?]*")


def clauses(text: str) -> tuple[str, ...]:
    """The clauses of a text, if it has several: *I report to Al* of *Bo quit, so I report to Al*.

    Clauses of fewer than `FEWEST` words are left out.
    """
    if len(text) > LONGEST:
        return ()
    found = tuple(part for part in _BETWEEN.split(text) if len(part.split()) >= FEWEST)
    return () if found == (text,) else found


def without_since(text: str) -> str:
    """A text without the phrase that says since when it holds: *these days*, *since January*.

    A phrase with figures (*since 2019*) stays, because two different ones are two values.
    """
    return _TIME.sub("", text, count=1)


def as_state(said: str, who: str) -> str:
    """Rewrite what is said of `who` in the simple present: what they do now, or a change's result.

    A text with a comma, semicolon, colon or question mark stays as it is.
    """
    rest = said[len(who) :]
    if not said.startswith(who) or not _ONE_CLAUSE.fullmatch(rest):
        return said
    if rest.startswith(_EMPLOYER):
        return f"{who} works at {rest.removeprefix(_EMPLOYER)}"
    if (doing := _DOING.match(rest)) and doing[1] in _SIMPLE:
        return f"{who} {_SIMPLE[doing[1]]}{rest[doing.end() :]}"
    for told, state in _LEADS:
        if led := told.search(rest):
            return who + rest[: led.start()] + state + rest[led.end() :]
    return said


def _participles(base: str) -> Iterator[str]:
    """The present participle of a verb: *running*; both forms if stress decides: *beginning*."""
    if base.endswith("e") and not base.endswith("ee"):
        yield base[:-1] + "ing"
        return
    if _MAY_DOUBLE.fullmatch(base):
        yield base + base[-1] + "ing"
    if not _DOUBLED.fullmatch(base):
        yield base + "ing"


_SIMPLE = {
    participle: simple
    for base, simple in THIRD.items()
    if base not in ("go", "do")
    for participle in _participles(base)
}
