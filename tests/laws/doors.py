"""The runtimes of generated histories, and the doors by which requests come to them.

Embedded, a request is a call, or bytes in the inbox. In a cluster it is a record of the only
partition, whose writer has a replica of what the brokers have. Either dies at a commit when it is
told to, and another takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import orjson
from aiokafka import ConsumerRecord

from palimpsest.contracts.answers import Answer, from_json
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.cluster.records import SO_FAR, Outgoing, Record, done_with
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica, discard, take_over
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.log.log import Lines, Log
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.serve import PendingRequest, parse_request, serve, serve_all
from palimpsest.streams.write.writer import Writer
from tests.streams.write.runtime import Runtime
from tests.stub_engine import StubEngine

Clock = Callable[[], datetime]


class Killed(BaseException):
    """The process is gone."""


class Death:
    """When the next process dies: after this number of commits, before or after it is durable."""

    def __init__(self) -> None:
        self.commits = 0
        self.durable = False

    def strike(self, *, durable: bool) -> None:
        """Die, if it is time."""
        if self.commits and durable is self.durable:
            self.commits -= 1
            if not self.commits:
                raise Killed


class House(Protocol):
    """A runtime: what it holds, and what it answers."""

    @property
    def writer(self) -> Writer:
        """The writer of the process that is there now."""

    @property
    def log(self) -> Log:
        """What it has."""

    def submit(self, inputs: Sequence[Input]) -> list[Outcome]:
        """Decide on rows."""

    def ask(self, request: AnyRequest, door: str) -> Answer:
        """Carry out a request at a door; after a death the same request comes again."""

    def ask_together(self, requests: Sequence[AnyRequest]) -> list[Answer]:
        """Carry out requests in as few transactions as possible."""

    def restart(self) -> None:
        """Another process takes the place of this one, which may be dead."""

    def move(self, folder: Path) -> None:
        """All that it has is brought to another place."""

    def close(self) -> None:
        """End."""


def _as_it_travels(answer: Answer) -> Answer:
    return from_json(orjson.loads(orjson.dumps(answer.to_json())))


class Embedded:
    """A store's log and its writer, without projections."""

    doors = ("call", "inbox")

    def __init__(self, folder: Path, policy: Policy, clock: Clock, death: Death) -> None:
        self._clock = clock
        self._death = death
        self._path = folder / "log.sqlite"
        self._runtime = self._opened(policy)

    def _opened(self, policy: Policy) -> Runtime:
        def effect(name: str) -> None:
            self._death.strike(durable=name == "log:committed")

        return Runtime(self._path, policy=policy, clock=self._clock, effect=effect)

    @property
    def writer(self) -> Writer:
        return self._runtime.writer

    @property
    def log(self) -> Log:
        return self._runtime.log

    def submit(self, inputs: Sequence[Input]) -> list[Outcome]:
        return decide_all(self.writer, inputs)

    def ask(self, request: AnyRequest, door: str) -> Answer:
        if door == "call":
            [answer] = serve(self.writer, [PendingRequest(request)])
            return _as_it_travels(answer)
        inbox, body = Inbox(self.log), request.model_dump_json().encode()
        waiting = inbox.waiting(1)
        number = waiting[0].id if waiting else inbox.put("request", "cli", body)
        serve_all(self.writer, [PendingRequest(parse_request(body), number)])
        told = inbox.take_answers([number]).get(number)
        assert told is not None, "a request of the inbox is not answered"
        return from_json(orjson.loads(told))

    def ask_together(self, requests: Sequence[AnyRequest]) -> list[Answer]:
        """Carry out requests in as few transactions as possible."""
        answers = serve_all(self.writer, map(PendingRequest, requests))
        return [_as_it_travels(answer) for answer in answers]

    def restart(self) -> None:
        policy = self.writer.policy
        self._runtime.close()
        self._runtime = self._opened(policy)
        for item in Inbox(self.log).waiting(9):
            assert item.kind == "request"

    def move(self, folder: Path) -> None:
        lines, policy = self._runtime.lines(), self.writer.policy
        self._runtime.close()
        self._path = folder / "log.sqlite"
        self._runtime = self._opened(policy)
        import_lines(self.log, lines)
        assert self._runtime.lines() == lines

    def close(self) -> None:
        self._runtime.close()


TOPICS = Topics("", 1)
DECISIONS = TOPICS.name("decisions")
CANDIDATES, COMMANDS = TOPICS.name("candidates"), TOPICS.name("commands")
INPUTS = {CANDIDATES: "candidates", COMMANDS: "commands"}


class Partition:
    """The only partition of a cluster: brokers that keep what was committed, and its worker."""

    doors = ("record",)

    def __init__(self, folder: Path, policy: Policy, clock: Clock, death: Death) -> None:
        self._policy = policy
        self._clock = clock
        self._death = death
        self._path = folder / "replica.sqlite"
        self._topic: list[ConsumerRecord[bytes, bytes]] = []
        self._answers: list[tuple[bytes, bytes]] = []
        self._offsets = {CANDIDATES: 0, COMMANDS: 0}
        self._assign()

    def _assign(self) -> None:
        """Start a worker on a replica, which is caught up with the topic first."""
        self.log = PartitionReplica.create(self._path)
        held = self.log.followed(DECISIONS, 0)
        start = 0 if held is None else held.next_offset
        if held is None:
            with self.log.transaction():
                self.log.follow(Followed(DECISIONS, 0, "decisions", 0))
        if behind := self._topic[start:]:
            take_over({0: self.log}, behind, "decisions")
        followed = self.log.followed(DECISIONS, 0)
        assert followed is not None
        self._embedder = Embedder(StubEngine())
        self._partition = PartitionWriter(
            self.log,
            self._publish,
            followed,
            TOPICS,
            INPUTS,
            self._policy,
            lambda _model: self._embedder,
            self._clock,
            Metrics(),
        )

    @property
    def writer(self) -> Writer:
        return self._partition.writer

    def _publish(
        self, lines: Lines, others: Sequence[Outgoing], done: Sequence[InputOffset]
    ) -> int:
        """What the brokers do in a transaction: all of it, or nothing."""
        self._death.strike(durable=False)
        for number, (_, line) in enumerate(lines, start=1):
            headers = done_with(done) if number == len(lines) else ()
            offset = len(self._topic)
            self._topic.append(
                ConsumerRecord(DECISIONS, 0, offset, 0, 0, None, line, None, 0, len(line), headers)
            )
        for other in others:
            key = other.key or b""
            if other.topic == TOPICS.name("answers") and not key.endswith(SO_FAR.encode()):
                self._answers.append((key, other.value))
        self._death.strike(durable=True)
        return len(self._topic)

    def submit(self, inputs: Sequence[Input]) -> list[Outcome]:
        offset = self._offsets[CANDIDATES]
        records = [
            Record(CANDIDATES, 0, number, item.row.raw)
            for number, item in enumerate(inputs, start=offset)
        ]
        outcomes = self._partition.close(self._partition.open(records))
        self._offsets[CANDIDATES] += len(records)
        assert len(outcomes) in (0, len(records)), "a record of several is left out"
        return outcomes

    def ask(self, request: AnyRequest, door: str) -> Answer:
        assert door == "record"
        [answer] = self.ask_together([request])
        return answer

    def ask_together(self, requests: Sequence[AnyRequest]) -> list[Answer]:
        """Carry out requests that are delivered together."""
        records = [
            Record(COMMANDS, 0, offset, request.model_dump_json(exclude_none=True).encode())
            for offset, request in enumerate(requests, start=self._offsets[COMMANDS])
        ]
        self._partition.carry_out(records)
        self._offsets[COMMANDS] += len(requests)
        answers = self._answers[-len(requests) :]
        assert [key for key, _ in answers] == [one.request_id.encode() for one in requests]
        return [from_json(orjson.loads(answer)) for _, answer in answers]

    def restart(self) -> None:
        """The replica has what it had; the brokers may have more."""
        self._policy = self.writer.policy
        self._embedder.close()
        self.log.close()
        self._assign()
        held = [line for _, line in self.log.lines()]
        assert held == [one.value for one in self._topic], "a replica is not what the brokers have"

    def move(self, folder: Path) -> None:
        """Another machine has the partition, and no replica of it."""
        self._embedder.close()
        self.log.close()
        discard(self._path)
        self._path = folder / "replica.sqlite"
        self._assign()

    def close(self) -> None:
        ids = [orjson.loads(one.value or b"")["id"] for one in self._topic]
        self._embedder.close()
        self.log.close()
        assert len(ids) == len(set(ids)), "the brokers have an event twice"
