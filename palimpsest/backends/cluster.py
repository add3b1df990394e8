"""Writes to the topics of a cluster, and reads the store that follows it."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.backends.access_log import uses_event
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader, nothing_follows
from palimpsest.contracts.answers import A_co, Answer, result_or_refusal
from palimpsest.contracts.errors import (
    InvalidInputError,
    PalimpsestError,
    RefusedError,
    StoreError,
    UsageError,
)
from palimpsest.contracts.extras import missing_extra
from palimpsest.contracts.identity import decision_id_or_unchanged, event_id
from palimpsest.contracts.requested import as_asked
from palimpsest.contracts.requests import (
    ForgetRequest,
    OneCommand,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RunRequest,
    SessionRequest,
    SubmitRequest,
    is_dry_run,
    target_of,
)
from palimpsest.process.signals import between_windows
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.embedded.inbox import gathered_uses
from palimpsest.streams.embedded.pipeline import ReadAhead
from palimpsest.streams.intake import Prepared, RawRow, understand
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Input, Outcome, Submission
from palimpsest.streams.write.serve import execute
from palimpsest.streams.write.uses import summed

if TYPE_CHECKING:
    from palimpsest.backends.cluster_client import ClusterClient

_log = logging.getLogger(__name__)

FOLLOWING_SECONDS = 10.0
"""How long to wait for the store to show what the cluster has done."""
POLL_SECONDS = 0.05
IN_BULK = ("reversed", "retracted", "restored")
"""Keys of answers with one command per entry; its id derives from the request and the entry."""


class ClusterWriter:
    """Writes to a cluster, which decides; `reader` reads the store that follows it.

    It connects when it first writes; reading needs no broker. UsageError if it cannot, because the
    store has decisions of its own or the extra `cluster` is missing.
    """

    def __init__(self, reader: Reader, cluster: Connection) -> None:
        self.reader = reader
        self._log = reader.log
        self._inbox = reader.inbox
        self._cluster = cluster
        self._connected: ClusterClient | None = None

    def close(self) -> None:
        """Disconnect, and close the files."""
        try:
            if self._connected is not None:
                self._connected.close()
        finally:
            self.reader.close()

    def behind(self) -> int | None:
        """How many records the store is behind the decisions; None if that is unknown."""
        rows = self._log.rows("SELECT topic, partition, next_offset FROM followed")
        followed = {(topic, partition): offset for topic, partition, offset in rows}
        if not followed:
            return None
        try:
            return self._client().behind(followed)
        except PalimpsestError as error:
            _log.warning("it is unknown how far the store is behind the cluster: %s", error)
            return None

    def _client(self) -> ClusterClient:
        if self._connected is None:
            if self._log.head() and not self.reader.follows():
                raise UsageError(
                    f"the store {self.reader.folder} has decisions of its own, but a cluster was"
                    " given, too: use a store that follows the cluster, or no cluster"
                )
            if find_spec("aiokafka") is None:
                raise missing_extra("a cluster", "cluster")
            from palimpsest.backends.cluster_client import ClusterClient

            followed: dict[str, str] = dict(
                self._log.rows("SELECT DISTINCT topic, topic_id FROM followed")
            )
            self._connected = ClusterClient(self._cluster, followed)
        return self._connected

    # -- candidates and uses -----------------------------------------------------------------------

    def submit(
        self, inputs: Sequence[Input], _renames: Mapping[str, str] = NO_RENAMES, /
    ) -> list[Outcome]:
        """Publish inputs; their outcomes will appear in the store."""
        self._client().publish(inputs)
        return [
            Outcome("published", item.meaning.candidate_id)
            if isinstance(item.meaning, Prepared)
            else Outcome("published")
            for item in inputs
        ]

    def name(self, submission: Submission, owner_id: str, /) -> Future[Answer]:
        """Let the owner's worker record a submission.

        The answer is a refusal if its id was used for another one.
        """
        request = SubmitRequest(
            request_id=submission.request_id, owner_id=owner_id, asked=submission.asked
        )
        return self._client().ask(request, owner_id)

    def stream(
        self,
        inputs: Iterator[Input],
        _renames: dict[str, str],
        /,
    ) -> Generator[Sequence[Outcome], None, None]:
        """Publish many inputs, window by window; if the input pauses, a window is cut short."""
        with between_windows() as check, ReadAhead(inputs) as rows:
            while not rows.ended:
                if window := rows.next_window():
                    yield self.submit(window)
                check()

    def retry(self, raw: bytes, _origin: str, renames: Mapping[str, str], /) -> Outcome:
        """Publish a dead letter again if it can be read now, as if it had come from the topic."""
        client = self._client()
        from palimpsest.streams.cluster.worker.partition_writer import SOURCE

        row = RawRow(raw, SOURCE, 1)
        meaning = understand(row, renames)
        if isinstance(meaning, InvalidInputError):
            return Outcome("invalid", reason=meaning.reason, detail=meaning.detail)
        client.publish([Input(row, meaning)])
        return Outcome("published")

    def leave_uses(self, owner_id: str, event: bytes) -> None:
        """Leave an owner's gathered uses with the store, and publish what is due."""
        self._inbox.put("uses", owner_id, event)
        self.serve_left()

    def serve_left(self) -> None:
        """Publish the uses that this store's processes have left, one event per owner.

        Owners whose last event is less than a minute old wait, as do all while no broker answers.
        """
        inputs = []
        for owner_id, bodies in self._inbox.take_uses().items():
            row = RawRow(uses_event(owner_id, summed(gathered_uses(bodies))), owner_id)
            inputs.append(Input(row, understand(row)))
        try:
            if inputs:
                self._client().publish(inputs)
        except PalimpsestError as error:
            for item in inputs:
                self._inbox.put("uses", item.row.source, item.row.raw)
            _log.warning("accesses are not published yet: %s", error)

    # -- requests ----------------------------------------------------------------------------------

    def ask(self, request: Request[A_co]) -> A_co:
        """Let the workers execute a request; returns when the store shows its effect.

        A dry run is executed here, on the store's data.
        """
        request = as_asked(request)
        if is_dry_run(request):
            return execute(self.reader.trial(), request)
        [answer] = self._ask_workers([request])
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    def ask_each(self, requests: Sequence[Request[A_co]]) -> list[A_co | RefusedError]:
        """Let the workers execute requests; returns when the store shows them all."""
        return self._ask_workers(requests) if requests else []

    def _ask_workers(self, requests: Sequence[Request[A_co]]) -> list[A_co | RefusedError]:
        asked = [(request, self._owner_of(request)) for request in requests]
        answers = [result_or_refusal(answer) for answer in self._client().ask_each(asked)]
        done = zip(requests, answers, strict=True)
        pairs = [
            (request, answer) for request, answer in done if not isinstance(answer, RefusedError)
        ]
        self._await([event for request, answer in pairs for event in events_of(request, answer)])
        return answers

    def _owner_of(self, request: Request) -> str | None:
        """The owner of the candidate or decision that a request names, if the store knows it.

        If so, only that owner's partition is asked, because the others would not know the id.
        """
        if isinstance(request, ForgetRequest):
            if not request.memory_ids:
                return request.owner_id
            return self._log.owner_of(decision_id_or_unchanged(request.memory_ids[0])) or None
        names = (getattr(request, name, None) for name in ("a", "candidate_id", "memory_id"))
        candidate_id = next(filter(None, names), None)
        decision_id = (
            getattr(request, "decision_id", None)
            if candidate_id is None
            else decision_id_or_unchanged(candidate_id)
        )
        return (self._log.owner_of(decision_id) if decision_id else None) or None

    def _await(self, events: Sequence[str]) -> None:
        if isinstance(self._log, _NoStore):
            return
        last = time.monotonic() + FOLLOWING_SECONDS
        while not self._shows(events):
            if time.monotonic() > last:
                _log.warning(
                    "the cluster has done it, but the store %s does not show it after %.0f s:"
                    " is `palimpsest project` running on it?",
                    self.reader.folder,
                    FOLLOWING_SECONDS,
                )
                return
            time.sleep(POLL_SECONDS)

    def _shows(self, events: Sequence[str]) -> bool:
        positions = []
        for event in events:
            found = self._log.find(event)
            if found is None:
                return False
            positions.append(found.position)
        return not positions or max(positions) <= min(self.reader.positions().values())


def log_that_follows(folder: Path, *, needed: bool) -> Log:
    """The log of a store that follows a cluster, or an empty one in memory.

    If the store is `needed` but missing, raises StoreError: an empty log would look like an answer.
    """
    path = folder / LOG_FILE
    if needed and not path.is_file():
        raise StoreError(nothing_follows(folder))
    found = path.is_file()
    return Log.open(path, shared=True) if found else _NoStore.create(path, shared=True)


class _NoStore(Log):
    """An empty log in place of a store, for a process that only writes to the cluster."""

    MADE = "memory"


def events_of(request: Request, answer: Mapping[str, Any]) -> list[str]:
    """The ids of the events that executed a request, from its id or from its answer."""
    if isinstance(request, PolicyRequest):
        return [event_id(request.request_id, "0")]
    if isinstance(request, ReinstateRequest | ReinstateManyRequest):
        recorded: list[str] = answer["events"]
        return recorded
    if isinstance(request, RunRequest):
        return [answer["ran"]] if "ran" in answer else []
    targets = [change for name in IN_BULK for change in answer.get(name, ())]
    if isinstance(request, OneCommand):
        targets.insert(0, target_of(request))
    causes = [event_id(request.request_id, target) for target in dict.fromkeys(targets)]
    if isinstance(request, SessionRequest) and "merged_groups" in answer:
        causes += [event_id(cause, "consolidate") for cause in causes]
    events = [event_id(cause, "0") for cause in causes]
    return [*events, *answer.get("carried_out", ()), *answer.get("events", ())]
