"""What an existing store gives: rows under its own names for things."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from palimpsest.contracts.errors import UsageError

Kind = Literal["file", "sqlite", "lancedb", "qdrant", "chroma", "mem0-history"]
"""What a source is."""
Fields = dict[str, Any]
Item = Fields | bytes
"""A row's values by their names there; the bytes of a row that is no JSON object."""
Trust = bool | Callable[[str], bool]
"""Whether a source that could run a program when it is read is trusted; a function gets why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows are: the path, and what in it is meant where there are several things.

    `table` names a table or a collection, `query` is SQL of a SQLite file, and `history` is mem0's
    history beside its vectors.
    """

    path: Path
    table: str | None = None
    query: str | None = None
    history: Path | None = None
    trust: Trust = False


class Source(Protocol):
    """An existing store, open for reading; nothing of it is ever written."""

    @property
    def kind(self) -> Kind:
        """What it is."""

    @property
    def name(self) -> str:
        """What it is called: the `source` of its candidates, unless another name is given."""

    @property
    def remarks(self) -> Sequence[str]:
        """What a person should know before it is imported; complete once the rows are read."""

    @property
    def share(self) -> float | None:
        """The share that was read so far (0-1); None if nobody knows."""

    def rows(self) -> Iterator[Item]:
        """All rows, the same ones in the same order each time."""


def one_of(names: Sequence[str], wanted: str | None, what: str) -> str:
    """The one name, or the one that is wanted; UsageError lists them where that is open."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        assert wanted is not None
        return wanted
    listed = ", ".join(names) or "none"
    asked = f"there is no {what} {wanted}" if wanted else f"name the {what} with --table"
    raise UsageError(f"{asked}: there are {listed}" if names else f"there is no {what} in it")
