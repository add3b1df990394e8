"""The interface of an existing store: rows with its own field names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from palimpsest.contracts.errors import UsageError

Kind = Literal["file", "sqlite", "lancedb", "qdrant", "chroma", "mem0-history"]
"""The kinds of sources."""
Fields = dict[str, Any]
Item = Fields | bytes
"""A row's values by the source's field names; the bytes of a row that is not a JSON object."""
Trust = bool | Callable[[str], bool]
"""Whether to trust a source that could run code when read; a function is given the reason."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The path of a source, and which part of it to read if there are several.

    `table` names a table or a collection, `query` is SQL for a SQLite file, and `history` is mem0's
    history beside its vectors.
    """

    path: Path
    table: str | None = None
    query: str | None = None
    history: Path | None = None
    trust: Trust = False


class Source(Protocol):
    """An existing store, open for reading; it is never written to."""

    @property
    def kind(self) -> Kind:
        """The kind of source."""

    @property
    def name(self) -> str:
        """The `source` of its candidates, unless another name is given."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks for a person before the import; complete when the rows have been read."""

    @property
    def share(self) -> float | None:
        """The share that has been read so far (0-1); None if unknown."""

    def rows(self) -> Iterator[Item]:
        """All rows, the same ones in the same order each time."""


class CountedRows:
    """A source that knows its total, and counts the rows that it has read."""

    remarks: Sequence[str] = ()
    _done = _total = 0

    @property
    def share(self) -> float | None:
        """The share of the rows that was read."""
        return self._done / self._total if self._total else None


def one_of(names: Sequence[str], wanted: str | None, what: str) -> str:
    """The only name, or the wanted one; UsageError if it is not there, or several are."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        assert wanted is not None
        return wanted
    listed = ", ".join(names) or "none"
    asked = f"there is no {what} {wanted}" if wanted else f"name the {what} with --table"
    raise UsageError(f"{asked}: there are {listed}" if names else f"the source has no {what}")
