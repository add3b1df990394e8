"""Bounds a tool's structured answer: previews instead of long texts, fewer items of long lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from palimpsest.process.cutting import place_to_cut

JsonObject = dict[str, Any]

STRUCTURED_BYTES = 60_000
"""With this bound, an answer and its text stay below 100 kB, however the client escapes them."""
LONGEST_TEXT = 32_768
SHORTEST_PREVIEW = 200
"""Characters of a text's shortest preview; if the answer is still too large, items are left out."""
PREVIEW_ENDS = "…"
NAMES = frozenset({"id", "urn", "token", "next", "version", "forgotten"})
"""Fields that other calls take, and that are never cut; likewise all that end in `_id`."""


class Bounded(NamedTuple):
    """An answer within its bound and, if it was shortened, what `_meta` says about that.

    `longest_text`: longer texts are previews. `left_out`: the number of missing items of lists, and
    of metadata.
    """

    answer: JsonObject
    notes: JsonObject | None = None


def bounded(answer: Mapping[str, Any], most: int) -> Bounded:
    """Fit an answer into `most` bytes of JSON with escapes: shorten texts first, then lists."""
    fitting = dict(answer)
    if _size(fitting) <= most:
        return Bounded(fitting)
    longest = LONGEST_TEXT
    while longest > SHORTEST_PREVIEW and _size(fitting) > most:
        longest = max(SHORTEST_PREVIEW, longest // 2)
        fitting = _shortened(answer, longest)
    left_out = _cut(fitting, most)
    if "next" in fitting and len(fitting["memories"]) < len(answer["memories"]):
        fitting["next"] = fitting["memories"][-1]["memory_id"]
    return Bounded(fitting, {"palimpsest/longest_text": longest, "palimpsest/left_out": left_out})


def _size(value: Any) -> int:
    return len(json.dumps(value))


def _shortened(value: Any, longest: int, name: str = "") -> Any:
    """A copy whose texts have at most `longest` characters; names and numbers are whole."""
    match value:
        case dict():
            return {key: _shortened(inner, longest, key) for key, inner in value.items()}
        case list() | tuple():
            return [_shortened(inner, longest, name) for inner in value]
        case str() if len(value) > longest and name not in NAMES and not name.endswith("_id"):
            return value[: place_to_cut(value, longest - 1)] + PREVIEW_ENDS
        case _:
            return value


def _cut(answer: JsonObject, most: int) -> int:
    """Remove items from the ends of the largest lists, and of metadata, until it fits."""
    left_out = 0
    while (excess := _size(answer) - most) > 0:
        parts = [(_size(part), part) for part in _parts(answer)]
        if not parts:
            break
        size, part = max(parts, key=lambda item: item[0])
        before = len(part)
        kept = min(before - 1, int(before * max(0.0, 1 - excess / size)))
        if isinstance(part, list):
            del part[max(kept, 1) :]
        else:
            for key in [*part][kept:]:
                del part[key]
        left_out += before - len(part)
    return left_out


def _parts(value: Any, *, metadata: bool = False) -> Iterator[list[Any] | JsonObject]:
    """Lists of several items, and the metadata of memories, at any depth."""
    if isinstance(value, dict):
        if metadata and value:
            yield value
        for key, inner in value.items():
            yield from _parts(inner, metadata=metadata or key == "metadata")
    elif isinstance(value, list):
        if len(value) > 1:
            yield value
        for inner in value:
            yield from _parts(inner, metadata=metadata)
