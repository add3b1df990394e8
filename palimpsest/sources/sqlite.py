"""A table of a SQLite file, or the result of a query."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import CountedRows, Item, Kind, SourcePlace, one_of
from palimpsest.sources.read_only import open_read_only

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'"
)


class SqliteSource(CountedRows):
    """The rows of a table, or of a query."""

    kind: Kind = "sqlite"

    def __init__(self, place: SourcePlace) -> None:
        """UsageError if the table is ambiguous, or the query fails or does more than read."""
        self._place = place
        self.name = place.path.name
        with open_read_only(place.path) as connection:
            query = place.query.rstrip("; \t\r\n") if place.query else None
            if not query:
                names = [name for (name,) in connection.execute(_TABLES)]
                table = one_of(names, place.table, "table")
                self.name = f"{self.name}:{table}"
                query = f"SELECT * FROM {quoted(table)}"  # noqa: S608 - quoted
            self.query = query
            try:
                counting = f"SELECT count(*) FROM ({self.query}\n)"  # noqa: S608 - the user's own query, on the user's own file
                [self._total] = connection.execute(counting).fetchone()
            except sqlite3.Error as error:
                raise UsageError(f"the query fails: {error}") from error

    def rows(self) -> Iterator[Item]:
        """Each row by its columns, without null values."""
        self._done = 0
        with open_read_only(self._place.path) as connection:
            found = connection.execute(self.query)
            names = [column[0] for column in found.description]
            for values in found:
                self._done += 1
                yield {
                    name: value
                    for name, value in zip(names, values, strict=True)
                    if value is not None
                }


def quoted(name: str) -> str:
    """A name quoted for SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
