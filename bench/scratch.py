"""A store made for one measurement, driven as the command line drives it."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest
from palimpsest.projections.live import LiveProjections
from palimpsest.streams.embedded.pipeline import ReadAhead, run
from palimpsest.streams.embedded.session import WriterSession
from palimpsest.streams.embedder import Embedder, Engine
from palimpsest.streams.intake import RawRow, RowCounter, understand
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import PendingRequest, serve_all

OwnedText = tuple[str, str]
"""An owner and a text."""


def inputs(texts: Iterable[OwnedText], source: str = "bench") -> Iterator[Input]:
    """Rows in the form of files, read and checked one by one as a reader of files does."""
    counter = RowCounter()
    for owner, text in texts:
        raw = orjson.dumps({"owner_id": owner, "text": text, "session_id": f"{owner}/1"})
        row = RawRow(raw, source, counter.count(raw))
        yield Input(row, understand(row))


class ScratchStore:
    """A new store in a temporary folder, with both projections; `clock` may note its calls."""

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        clock: Callable[[], datetime] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.folder = folder
        self.log = Log.create(folder / LOG_FILE)
        self._embedder = Embedder(engine)
        self.projections = LiveProjections(folder / PROJECTIONS_FOLDER, self.log)
        self.session = WriterSession(
            self.log,
            Owners(self.log),
            policy or load_policy("standard"),
            lambda: self._embedder,
            clock or (lambda: datetime.now(UTC)),
            self.projections,
        )
        self.session.begin()

    def ingest(self, texts: Iterable[OwnedText], source: str = "bench") -> float:
        """Ingest texts; returns the seconds until all are committed and in both projections."""
        begun = time.perf_counter()
        for _ in self.outcomes(texts, source):
            pass
        self.projections.show()
        return time.perf_counter() - begun

    def outcomes(self, texts: Iterable[OwnedText], source: str = "bench") -> Iterator[Outcome]:
        """Decide on texts; yields the outcome of each."""
        with ReadAhead(inputs(texts, source)) as rows:
            for window in run(self.session.writer, rows, self.session.serve):
                yield from window

    def ask(self, requests: Iterable[AnyRequest]) -> None:
        """Execute requests in order; many small ones share a commit."""
        serve_all(self.session.writer, map(PendingRequest, requests))

    def close(self) -> None:
        """End its threads and close its files."""
        self.projections.close()
        self._embedder.close()
        self.log.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        yield Path(folder)


def of_owners(texts: Iterable[str], owners: int) -> Iterator[OwnedText]:
    """The texts, each of the next owner in turn."""
    return ((f"owner {number % owners}", text) for number, text in enumerate(texts))


@contextmanager
def scratch_store(
    engine: Engine,
    clock: Callable[[], datetime] | None = None,
    policy: Policy | None = None,
) -> Iterator[ScratchStore]:
    """A store that is removed afterwards."""
    with scratch_folder() as folder, closing(ScratchStore(folder, engine, clock, policy)) as store:
        yield store
    gc.collect()
