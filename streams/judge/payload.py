"""Texts as the data of a request: JSON values in which nothing can be taken for anything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from palimpsest.streams.judge.pairs import Pair, Side
from palimpsest.streams.judge.prompts import Prompt, Schema

NO_PAIRS = '{"pairs": []}'
MOST_PAIRS = 500
"""In one request, by any policy."""
BYTES_A_TOKEN = 2
"""A token is longer in nearly every script: texts are rather taken for too long than too short."""


def pairs_payload(pairs: Sequence[Pair], *, swapped: bool = False) -> str:
    """The pairs, numbered from 1; `swapped` puts the newer side of each before the older."""
    return written({"pairs": [_pair(n, pair, swapped) for n, pair in enumerate(pairs, 1)]})


def sources_payload(sources: Sequence[Side]) -> str:
    """The texts of which one is to be made, in their order."""
    return written({"memories": [_side(source) for source in sources]})


def written(document: object) -> str:
    """JSON in which no text can look like markup, and no sign is invisible."""
    return json.dumps(document, ensure_ascii=False).translate(_SIGNS)


class _Signs(dict[int, str]):
    """Signs as they are written, each looked at once.

    Angle brackets stand as escapes, and so does what a model reads and people do not see.
    """

    def __missing__(self, point: int) -> str:
        sign = chr(point)
        seen = sign.isprintable() and sign not in "<>" and not _selects_a_form(point)
        self[point] = sign if seen else _escaped(sign)
        return self[point]


_SIGNS = _Signs()


def _selects_a_form(point: int) -> bool:
    """Variation selectors count as printable, and can carry any message unseen."""
    return 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF


def _escaped(sign: str) -> str:
    """A sign as JSON escapes it: as UTF-16, so that two stand for what is beyond the first."""
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _pair(number: int, pair: Pair, swapped: bool) -> dict[str, Any]:
    sides = [("older", _side(pair.older)), ("newer", _side(pair.newer))]
    return {"pair": number, **dict(reversed(sides) if swapped else sides)}


def _side(side: Side) -> dict[str, str]:
    return {"time": side.moment.isoformat(timespec="seconds"), "text": side.text}


def request(prompt: Prompt, model: str, payload: str, max_tokens: int) -> Schema:
    """The arguments of one call: the prompt is cached by the service, the payload is the message.

    The tool is not forced: models that always think refuse that. Who does not call it has given no
    usable answer.
    """
    told = {"type": "text", "text": prompt.text, "cache_control": {"type": "ephemeral"}}
    return {
        "model": model,
        "max_tokens": max_tokens,
        "system": [told],
        "tools": [prompt.tool],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "messages": [{"role": "user", "content": payload}],
    }


def tokens(text: str) -> int:
    """At least as many tokens as a text has, in nearly every script."""
    return len(text.encode()) // BYTES_A_TOKEN + 1


def pair_tokens(pair: Pair) -> int:
    """As `tokens`, of a pair as it stands in a request, whatever its number is."""
    return tokens(written(_pair(MOST_PAIRS, pair, swapped=False)) + ", ")
