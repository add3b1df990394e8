"""What no edit changes in a text: a pair that differs in it needs no alignment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palimpsest.streams.guard.data.en import NUMBERS, SPACED
from palimpsest.streams.guard.text.tokeniser import Kind

_ZEROS = re.compile(r"([0-9]+)(?:\.([0-9]{1,2}))?")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_WITH_UNIT = re.compile(rf"([0-9]+(?:[.,][0-9]+)*)(?:{'|'.join(sorted(SPACED))})")


def fixed_of(tokens: Sequence[str], kinds: Sequence[Kind], lows: Sequence[str]) -> tuple[str, ...]:
    """The numbers of a text by their value, and what is compared as it is written, sorted.

    Two texts with other ones are not near-identical: `number-word`, `decimals` and `unit-apart`
    keep the value, and no other edit touches either.
    """
    found = [NUMBERS[low] for low in lows if low in NUMBERS]
    for token, kind in zip(tokens, kinds, strict=True):
        if kind is Kind.NUMBER:
            found.append(_value(token))
        elif kind is Kind.CODE:
            quantity = _WITH_UNIT.fullmatch(token)
            found.append(_value(quantity[1]) if quantity else token)
    return tuple(sorted(found))


def _value(number: str) -> str:
    return without_zeros(without_thousands(number) or number)


def without_zeros(number: str) -> str:
    """A number without noughts behind its point, but where the point may part thousands."""
    parts = _ZEROS.fullmatch(number)
    if parts is None:
        return number
    decimals = (parts[2] or "").rstrip("0")
    return f"{parts[1]}.{decimals}" if decimals else parts[1]


def without_thousands(number: str) -> str | None:
    """A number without the commas between its thousands; None if it has none."""
    return number.replace(",", "") if _THOUSANDS.fullmatch(number) else None
