"""A writer on a log of its own, with the stub engine and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedded.pipeline import ReadAhead, decide_all, run
from palimpsest.streams.embedded.session import append
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.embedder.contract import Engine
from palimpsest.streams.intake import RawRow, RowCounter, understand
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners, fold_owner
from palimpsest.streams.write.writer import Effect, Writer, no_effect
from tests.stub_engine import StubEngine

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

Row = Mapping[str, Any] | bytes


def inputs(rows: Iterable[Row], source: str = "test") -> list[Input]:
    """Rows as the writer takes them."""
    counter = RowCounter()
    found = []
    for row in rows:
        raw = row if isinstance(row, bytes) else orjson.dumps(dict(row))
        read = RawRow(raw, source, counter.count(raw))
        found.append(Input(read, understand(read)))
    return found


class Runtime:
    """The embedded runtime without its projections; `told` is what the writer told them."""

    def __init__(
        self,
        path: Path,
        *,
        engine: Engine | None = None,
        policy: Policy | None = None,
        effect: Effect = no_effect,
        clock: Callable[[], datetime] = lambda: AT,
    ) -> None:
        self.engine = engine or StubEngine()
        self.embedder = Embedder(self.engine)
        self.log = Log.create(path)
        self.told: list[tuple[int, AnyEvent, Touched]] = []
        self.writer = Writer(
            self.log,
            Owners(self.log),
            partial(append, self.log),
            policy or load_policy("standard"),
            lambda: self.embedder,
            clock,
            self.told.extend,
            effect,
        )

    def submit(self, *rows: Row) -> list[Outcome]:
        """Decide on a few rows."""
        return decide_all(self.writer, inputs(rows))

    def stream(self, rows: Iterable[Row], source: str = "test") -> list[Outcome]:
        """Decide on many rows, as `palimpsest ingest` does."""
        windows = self.windows(inputs(rows, source))
        return [outcome for window in windows for outcome in window]

    def windows(
        self, read: Iterable[Input], between: Callable[[], object] = lambda: None
    ) -> Generator[Sequence[Outcome], None, None]:
        """The outcomes of a reader's inputs, window by window."""
        with ReadAhead(read) as rows:
            yield from run(self.writer, rows, between)

    def lines(self) -> list[bytes]:
        """Every event as it was written."""
        return [line for _, line in self.log.lines()]

    def ledger_matches_log(self) -> bool:
        """Whether what is in memory is what the log folds into, for every owner."""
        return all(
            pictures(self.writer.owners.get(owner).ledger) == pictures(fold_owner(self.log, owner))
            for owner in self.log.owners()
        )

    def close(self) -> None:
        """End the thread and let the file go."""
        self.embedder.close()
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def pictures(ledger: Ledger) -> Sequence[Any]:
    """Every memory of an owner as plain values."""
    return [picture(memory) for memory in ledger.memories()]


def memories(log: Log) -> dict[str, Sequence[Any]]:
    """Every memory of every owner, folded from the log."""
    return {owner: pictures(fold_owner(log, owner)) for owner in log.owners()}
