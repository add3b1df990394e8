"""Writing to a store: directly if this process holds the lock, else through the inbox."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from palimpsest.backends.reader import Reader
from palimpsest.backends.upkeep import POLL_SECONDS
from palimpsest.contracts.answers import A_co, Answer, from_json, result, result_or_refusal
from palimpsest.contracts.errors import ModelError, RefusedError, UsageError
from palimpsest.contracts.requested import as_asked
from palimpsest.contracts.requests import CheckRequest, Request, is_dry_run
from palimpsest.process.signals import between_windows
from palimpsest.streams.embedded.inbox import ItemKind, outcomes_of, pack
from palimpsest.streams.embedded.pipeline import ReadAhead, decide_all, run, windows_of
from palimpsest.streams.intake import RawRow, understand
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.write.handlers.check import check
from palimpsest.streams.write.inputs import Input, Outcome, Submission
from palimpsest.streams.write.serve import PendingRequest, execute, serve, serve_all

AWAITED = 500
"""Number of answers polled at once: the first ones only, because answers come in order."""


class EmbeddedWriter:
    """Writes to a store, through the lock or through the inbox of the process that has the lock."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._inbox = reader.inbox
        self._writing = reader.upkeep.writing

    def close(self) -> None:
        """Flush the projections, stop the threads and close the files."""
        self.reader.close()

    def behind(self) -> int | None:
        """How many records the store is behind a cluster's decisions; None if that is unknown."""
        return None

    def _require_own(self) -> None:
        """RefusedError if the store follows a cluster: only the cluster may decide."""
        if self.reader.follows():
            raise RefusedError(
                "follows_a_cluster",
                "the store follows a cluster, which alone decides: give its --bootstrap",
            )

    def submit(
        self, inputs: Sequence[Input], renames: Mapping[str, str] = NO_RENAMES
    ) -> list[Outcome]:
        """Decide on inputs here, or leave them to the writing process, which reads them again.

        `renames` are the field names (theirs to ours) that the inputs were read with.
        """
        self._require_own()
        with self._writing() as session:
            if session is not None:
                return decide_all(session.writer, inputs)
        return [
            outcome
            for window in windows_of(inputs)
            for outcome in self._send_window(window, renames)
        ]

    def name(self, _submission: Submission, _owner_id: str) -> None:
        """Do nothing: the commit of a submission's rows records it."""

    def stream(
        self, inputs: Iterator[Input], renames: dict[str, str]
    ) -> Generator[Sequence[Outcome], None, None]:
        """Decide on many inputs, window by window, and serve others between the windows.

        While another process writes, windows go to it until it releases the lock: a verifier holds
        it only for moments, and an ingest that began during one of them must not stay slow.
        """
        self._require_own()
        with between_windows() as interrupted, ReadAhead(inputs) as rows:
            while not rows.ended:
                with self._writing() as session:
                    if session is not None:
                        with self.reader.upkeep.projecting():
                            yield from run(
                                session.writer,
                                rows,
                                lambda: (session.serve_others(), interrupted()),
                            )
                        return
                if window := rows.next_window():
                    yield self._send_window(window, renames)
                interrupted()

    def retry(self, raw: bytes, origin: str, renames: Mapping[str, str]) -> Outcome:
        """Decide on the bytes of a dead letter that came from `origin`."""
        row = RawRow(raw, origin, 1)
        return self.submit([Input(row, understand(row, renames))], renames)[0]

    def _send_window(
        self, window: Sequence[Input], renames: Mapping[str, str]
    ) -> Sequence[Outcome]:
        return outcomes_of(self._leave_in_inbox("candidates", pack(window, renames)))

    def ask(self, request: Request[A_co]) -> A_co:
        """Execute a request here, or leave it to the writing process; RefusedError if impossible.

        A dry run is executed here, on the committed state; so is a check on a read-only disk.
        """
        request = as_asked(request)
        if is_dry_run(request):
            return execute(self.reader.trial(), request)
        self._require_own()
        if self.reader.log.sealed and isinstance(request, CheckRequest):
            return cast("A_co", check(self.reader.onlooker(), request))
        with self._writing() as session:
            if session is not None:
                return result(serve(session.writer, [PendingRequest(request)])[0])
        answer: Answer[A_co] = from_json(self._leave_in_inbox("request", _body(request)))
        return result(answer)

    def ask_each(self, requests: Sequence[Request[A_co]]) -> list[A_co | RefusedError]:
        """Execute requests that do not depend on each other; many share a commit.

        If another process writes, all are left in the inbox before the first answer is awaited.
        The inbox is not served here: the caller may have no model to decide on candidates.
        """
        self._require_own()
        with self._writing(serves=False) as session:
            if session is not None:
                answers = serve_all(session.writer, map(PendingRequest, requests))
                return [result_or_refusal(answer) for answer in answers]
        items = self._inbox.put_each("request", "inbox", map(_body, requests))
        return [result_or_refusal(from_json(answer)) for answer in self._answers_to(items)]

    def leave_uses(self, owner_id: str, event: bytes) -> None:
        """Leave an owner's gathered uses, as one event, for the next writer."""
        self._inbox.put("uses", owner_id, event)

    def serve_left(self) -> None:
        """Serve the inbox, unless another process is writing and will do so."""
        with self._writing():
            pass

    def _leave_in_inbox(self, kind: ItemKind, body: bytes) -> Any:
        """Leave an item and wait for its answer."""
        return self._answers_to([self._inbox.put(kind, "inbox", body)])[0]

    def _answers_to(self, items: Sequence[int]) -> list[Any]:
        """Wait for the answers to items; if the writer has ended, serve them here."""
        found: dict[int, bytes] = {}
        while waiting := [item for item in items if item not in found]:
            some = self._inbox.take_answers(waiting[:AWAITED])
            found |= some
            if some:
                continue
            with self._writing() as session:
                if session is not None:
                    try:
                        session.serve_all()
                    except (ModelError, UsageError):  # perhaps of an older item alone
                        found |= (some := self._inbox.take_answers(waiting[:AWAITED]))
                        if not some:
                            self._inbox.withdraw(waiting)
                            raise
                    continue
            time.sleep(POLL_SECONDS)
        return [orjson.loads(found[item]) for item in items]


def _body(request: Request) -> bytes:
    return request.model_dump_json(exclude_none=True).encode()
