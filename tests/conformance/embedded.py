"""The embedded runtime: the facade on a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from palimpsest import Palimpsest
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader
from palimpsest.contracts.requests import AnyRequest
from palimpsest.jobs.questions import open_questions
from palimpsest.streams.embedder import EmbedderSource
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.worker import Tally
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import verified
from tests.streams.write.runtime import inputs
from tests.stub_engine import load_stub

MEMORIES = "SELECT memory_id, face, members FROM memories WHERE owner_id = ? ORDER BY memory_id"


class EmbeddedRuntime:
    """A front writer with its writing session; a restart opens another on the same folder.

    `history` is a log from elsewhere, that is imported first.
    """

    def __init__(self, folder: Path, history: Sequence[bytes] = ()) -> None:
        self._folder = folder
        if history:
            with Log.create(folder / LOG_FILE) as log:
                import_lines(log, history)
        self._writer = self._opened()

    def _opened(self) -> EmbeddedWriter:
        log = Log.create(self._folder / LOG_FILE, shared=True)
        policy = load_policy("standard")
        return EmbeddedWriter(Reader(self._folder, log, policy, EmbedderSource(load_stub)))

    def submit(self, rows: Sequence[bytes]) -> list[Mapping[str, Any]]:
        return [asdict(outcome) for outcome in self._writer.submit(inputs(rows))]

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        return self._writer.ask(request)

    def verify(self, judge: PairJudge) -> Tally:
        async def run() -> Tally:
            async with open_questions(self._opened) as questions:
                return await verified(questions, judge)

        return asyncio.run(run())

    def dry_run(self, request: AnyRequest) -> Mapping[str, Any]:
        return self.ask(request.model_copy(update={"dry_run": True}))

    def log(self) -> list[bytes]:
        return [line for _, line in self._writer.reader.log.lines()]

    def memories(self, owner_id: str) -> list[Mapping[str, Any]]:
        from palimpsest.projections.duckdb.queries import query

        self._writer.reader.refresh()
        return [*query(self._writer.reader.projections, MEMORIES, [owner_id])]

    def read_side(self) -> Path:
        return self._folder

    def client(self) -> Palimpsest:
        return Palimpsest(self._folder, self._opened())

    def dead_letters(self) -> list[bytes]:
        letters = DeadLetters(self._writer.reader.log)
        return [letters.original(letter.id) or b"" for letter in letters.all()]

    def restart(self) -> None:
        self._writer.close()
        self._writer = self._opened()

    def close(self) -> None:
        self._writer.close()
