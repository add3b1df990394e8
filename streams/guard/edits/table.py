"""The closed table of edits, each with the context that licenses it (shown in docs/guard.md)."""

from __future__ import annotations

from palimpsest.streams.guard.edits.edit import Edit
from palimpsest.streams.guard.edits.english import ENGLISH
from palimpsest.streams.guard.edits.languages import BY_TABLE
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.tokeniser import SIGN, STOPS, WORD


def _final_stop(one: Reading, i: int, other: Reading, j: int) -> tuple[int, int] | None:
    last = len(one.keys) - 1
    if i != last or j != len(other.keys) or not i:
        return None
    if one.texts[i] not in STOPS or one.kinds[i] is not SIGN:
        return None
    before = one.kinds[i - 1]
    plain = before is WORD or (before is not SIGN and not one.holds_code)
    return (1, 0) if plain else None


FINAL_STOP = Edit(
    name="final-stop",
    changes="one of the texts ends with a full stop",
    context="in any language; after a word, or after a number or an identifier if the text has no"
    " code",
    passes=(
        ("Plays the cello", "Plays the cello."),
        ("Она любит чай", "Она любит чай."),
        ("お茶が好きです", "お茶が好きです。"),
        ("The gateway is v2.1", "The gateway is v2.1."),
    ),
    fails=(
        ("Run ls .", "Run ls"),
        ("x = 5.", "x = 5"),
        ("Is he ill", "Is he ill?"),
        ("He left...", "He left."),
        ("Delete /srv/tmp.", "Delete /srv/tmp"),
    ),
    match=_final_stop,
    begins=STOPS,
    any_language=True,
    in_code=True,
)

EDITS: tuple[Edit, ...] = (FINAL_STOP, *ENGLISH, *BY_TABLE)
"""Every edit except the move, in the order in which they are tried."""
