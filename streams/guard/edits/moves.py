"""The edit of a phrase of time that stands first and could stand last."""

from __future__ import annotations

from palimpsest.streams.guard.data.en import (
    ACTIONS,
    CLAUSES,
    DAYTIMES,
    DETERMINERS,
    FINITE,
    MONTHS,
    MORE,
    NEGATORS,
    PARTICLES,
    PLACING,
    PREPOSITIONS,
    QUANTIFIERS,
    SUBJECTS,
    WEEKDAYS,
)
from palimpsest.streams.guard.edits.edit import Edit
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.tokeniser import NUMBER, WORD
from palimpsest.streams.guard.text.verbs import may_be_participle
from palimpsest.streams.guard.turned import capitalised


def front(text: Reading, at: int) -> int:
    """The number of tokens of a phrase of time that begins at a place; 0 if there is none."""
    first, second, third = (*text.lows[at : at + 3], "", "", "")[:3]
    if first == "on" and second.removesuffix("s") in WEEKDAYS:
        return 2
    if first == "in" and second == "the" and third in DAYTIMES:
        return 3
    if first == "every" and second in WEEKDAYS | DAYTIMES | {"day", "week", "month", "year"}:
        return 2
    if first == "in" and (second in MONTHS or _is_year(text, at + 1)):
        return 2
    return 0


def without_front(text: Reading) -> Reading | None:
    """The text with its initial time moved to the end; None if that could change its meaning.

    It must be one sentence of one clause: a subject, one verb of doing, and its object or place,
    without a second verb or a noun that the time could belong to.
    """
    length = front(text, 0)
    if not length or text.sentences != 1 or text.holds_code or not text.is_english:
        return None
    rest = length + (text.lows[length : length + 1] == (",",))
    stop = "." if text.lows[-1] == "." else ""
    end = len(text.lows) - len(stop)
    if not _is_one_clause(text, rest, end):
        return None
    body, time = " ".join(text.texts[rest:end]), " ".join(text.texts[:length])
    return Reading(f"{capitalised(body)} {time[0].lower()}{time[1:]}{stop}")


def _is_one_clause(text: Reading, start: int, end: int) -> bool:
    lows = text.lows[start:end]
    if not lows or any(kind is not WORD for kind in text.kinds[start:end]):
        return False
    verb = 1 if lows[0] in SUBJECTS else 2 if lows[0] in DETERMINERS else 0
    if not verb or lows[verb : verb + 1] == () or lows[verb] not in ACTIONS:
        return False
    others = lows[:verb] + lows[verb + 1 :]
    if lows[-1] in PARTICLES | PREPOSITIONS:
        return False
    if not (FINITE | CLAUSES | NEGATORS | QUANTIFIERS | MORE | {"about"}).isdisjoint(others):
        return False
    if any(map(may_be_participle, others)) or _has_clause(text.texts[start:end]):
        return False
    place = next((n for n, low in enumerate(lows) if low in PREPOSITIONS), None)
    if place is not None and lows[place] not in PLACING:
        return False
    return len(lows) - verb <= 4 if place is None else place == verb + 1 and len(lows) <= place + 4


def _has_clause(texts: tuple[str, ...]) -> bool:
    """Whether a name inside may be the subject of a verb: *drives cars Bob rents*."""
    return any(
        one.islower() and name[0].isupper() and verb.islower()
        for one, name, verb in zip(texts[1:], texts[2:], texts[3:], strict=False)
    )


def _is_year(text: Reading, at: int) -> bool:
    return text.kinds[at : at + 1] == (NUMBER,) and "1500" <= text.texts[at] < "2100"


def _nowhere(_one: Reading, _i: int, _other: Reading, _j: int) -> None:
    """Never match: `without_front` undoes a move before the texts are aligned."""


MOVE = Edit(
    name="moved-time",
    changes="a time stands first in one text and last in the other",
    context="one sentence of one clause with one verb of doing (*drinks*, *swam*); the time is *on"
    " Monday*, *in the morning*, *every day*, *in May*, *in 2019*; no *and*, *or*, *that*, no"
    " negation or comparative, no second verb, nothing else that the time could belong to (*cars"
    " built in 2019*); the sentence does"
    " not end with a particle of the verb (*slept in*)",
    passes=(
        ("In the morning, she drinks tea.", "She drinks tea in the morning."),
        ("On Monday she swam in the lake.", "She swam in the lake on Monday."),
    ),
    fails=(
        ("On Mondays she swims and reads.", "She swims and reads on Mondays."),
        ("On Monday she said he drove home.", "She said he drove home on Monday."),
        ("In the morning she drinks no tea.", "She drinks no tea in the morning."),
        ("On Monday she ate the cake of the party.", "She ate the cake of the party on Monday."),
        ("On Mondays he swims.", "He swims on Monday."),
        ("In 2019 she sang about the war.", "She sang about the war in 2019."),
        ("Every day she slept in.", "She slept in every day."),
        ("In the morning he drove off.", "He drove off in the morning."),
        ("Every day she eats less.", "She eats less every day."),
        ("In 2019 he drove cars built there.", "He drove cars built there in 2019."),
        ("On Sunday she ate bread baked there.", "She ate bread baked there on Sunday."),
        ("On Monday he drove cars Bob rents.", "He drove cars Bob rents on Monday."),
    ),
    match=_nowhere,
)
