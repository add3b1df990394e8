"""An open store: its writer, its reader, the turns of its calls, and how it closes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from palimpsest.api.calls import Turn, check_calls
from palimpsest.backends.access_log import Uses
from palimpsest.backends.reader import Reader
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.events import Speaker
from palimpsest.process.parameters import made_by
from palimpsest.queries.changes import ChangeFeed

if TYPE_CHECKING:
    from palimpsest.settings.settings import Settings


@check_calls
class OpenedStore:
    """An open store with what all calls need; subclasses in this package add the calls."""

    @made_by("open a store by `Palimpsest.open`")
    def __init__(self, folder: Path, writer: StoreWriter, by: Speaker | None = None) -> None:
        self.folder = folder
        self._by = by
        self.turn = Turn()
        self._unchecked = writer
        self._uses = Uses(writer, self.turn.lock)
        self.feed = ChangeFeed(writer.reader)

    @property
    def _writer(self) -> StoreWriter:
        self.turn.require()
        return self._unchecked

    @property
    def _reader(self) -> Reader:
        self.turn.require()
        return self._unchecked.reader

    @property
    def writer(self) -> StoreWriter:
        """The store's writer, for code outside the facade."""
        return self._writer

    @property
    def reader(self) -> Reader:
        """The store's reader, for code outside the facade."""
        return self._reader

    def close(self) -> None:
        """Stop the threads and close the files; later calls raise UsageError.

        In a forked child it does nothing, because the files belong to the parent.
        """
        if self.turn.end():
            try:
                self._uses.close()
            finally:
                self._unchecked.close()

    def __enter__(self) -> Self:
        self.turn.require()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def late_settings() -> Settings:
    """The settings of the environment and palimpsest.toml."""
    from palimpsest.settings.settings import read_settings  # slow: only if needed

    return read_settings()
