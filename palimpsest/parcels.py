"""Candidates on their way through the inbox: the producer's bytes and where they came from."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from palimpsest.contracts.answers import from_json, result
from palimpsest.contracts.errors import StoreError
from palimpsest.streams.intake import RawRow, understand
from palimpsest.streams.write.inputs import Input, Outcome


def pack(inputs: Sequence[Input], renames: Mapping[str, str]) -> bytes:
    """Inputs as one item's body; `renames` are those that they were read with."""
    rows = [
        (base64.b64encode(row.raw).decode(), row.source, row.repeat, row.reading)
        for row in (one.row for one in inputs)
    ]
    return orjson.dumps({"rows": rows, "renames": dict(renames)})


def unpack(body: bytes) -> list[Input]:
    """The inputs of an item's body, read again here: nobody else's parsing is trusted."""
    parcel = orjson.loads(body)
    rows = (RawRow(base64.b64decode(raw), *where) for raw, *where in parcel["rows"])
    return [Input(row, understand(row, parcel["renames"])) for row in rows]


def outcomes_of(answer: Any) -> list[Outcome]:
    """What the writer answered about an item's inputs; RuntimeError where it met a bug."""
    if isinstance(answer, list):
        return [Outcome(**one) for one in answer]
    result(from_json(answer))
    raise StoreError("the writer's answer cannot be read")
