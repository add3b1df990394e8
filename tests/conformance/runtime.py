"""A runtime as the conformance suite sees it: rows and requests in, the log and memories out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from palimpsest import Palimpsest
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.light import to_json
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import JudgeWorker, Questions, Tally


class Runtime(Protocol):
    """A running system with the policy `standard` and the stub engine."""

    def submit(self, rows: Sequence[bytes]) -> list[Mapping[str, Any]]:
        """Offer rows, in order, and wait for what became of each.

        Each has `result` and, where they apply, `candidate_id`, `decision`, `decision_id`,
        `joined_to`, `memory_id` and `reason`, as `streams.write.inputs.Outcome` has them.
        """

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        """Carry out a request; RefusedError if it is refused."""

    def dry_run(self, request: AnyRequest) -> Mapping[str, Any]:
        """What a request would do."""

    def verify(self, judge: PairJudge) -> Tally:
        """Ask a judge about everything that waits, by a verifier, and wait for the effects."""

    def log(self) -> list[bytes]:
        """Every event as its line, in an order that keeps each owner's."""

    def memories(self, owner_id: str) -> list[Mapping[str, Any]]:
        """The owner's living memories as its read side shows them: id, face, number of members."""

    def read_side(self) -> Path:
        """The folder of its store, which has everything that was said so far."""

    def client(self) -> Palimpsest:
        """The facade as a program opens it that writes to this runtime."""

    def dead_letters(self) -> list[bytes]:
        """The bytes of every row that could not be read, in any order: it may have no owner."""

    def restart(self) -> None:
        """End the process that decides; another takes its place."""

    def close(self) -> None:
        """End everything."""


async def verified(questions: Questions, judge: PairJudge) -> Tally:
    """One verifier without patience, until nothing waits."""
    verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=0.0)))
    worker = JudgeWorker(questions, verifier, lambda _: None, poll=0.05)
    return await worker.run(asyncio.Event(), once=True)


def decided(events: Sequence[AnyEvent]) -> list[dict[str, Any]]:
    """Events as they must be in every runtime: all but the times."""
    return [to_json(event) | {"time": None} for event in events]
