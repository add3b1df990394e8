"""Files of rows: one JSON object a line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

T = TypeVar("T")


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of this many things; the last may have fewer."""
    rest = iter(things)
    while some := [*islice(rest, size)]:
        yield some


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, which may be compressed."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rb") as lines:
        yield from map(orjson.loads, lines)


def shipped_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of this folder."""
    return [*read_rows(Path(__file__).with_name(name))]


def distinct_texts(file: Path) -> Iterator[str]:
    """Each distinct text of a file, in order."""
    yield from dict.fromkeys(row["text"] for row in read_rows(file))
