"""The cluster runtime as the conformance suite sees it: processes around a real broker."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError

from contracts.errors import InvalidInputError, RefusedError
from contracts.events import Decided, Invalid
from contracts.identity import decision_id_of, digest, invalid_id
from contracts.requests import AnyRequest
from contracts.wire import decode
from palimpsest.paths import LOG_FILE, PROJECTIONS_FOLDER
from projections.analysts import query
from streams.cluster.client import Client, as_record
from streams.cluster.connection import Connection
from streams.cluster.following import reader
from streams.cluster.importing import import_lines
from streams.cluster.missed import worker_group
from streams.cluster.questions import TopicQuestions
from streams.cluster.setup import create
from streams.cluster.topics import Topics
from streams.embedded.dead_letters import DeadLetters
from streams.embedded.desk import Rehearsal
from streams.embedded.inputs import Input
from streams.embedded.log import Log
from streams.embedded.operations import carry_out
from streams.embedded.owners import fold_owner
from streams.judge.docket import Asked
from streams.judge.verifying import Tally
from streams.policies import load_policy
from tests.conformance.runtime import verified
from tests.reliability.processes import Child, Forge
from tests.streams.embedded.runtime import AT, inputs

PATIENCE = 60.0
PARTITIONS = 4
FEW_PARTITIONS = 2
"""Enough to be more than one: each costs a producer at each start of a worker."""
Result = TypeVar("Result")
MEMORIES = "SELECT memory_id, face, members FROM memories WHERE owner_id = ? ORDER BY memory_id"


def eventually(asked: Any, what: str, patience: float = PATIENCE) -> None:
    """Wait until something holds; the test fails when it takes too long."""
    last = time.monotonic() + patience
    while not asked():
        assert time.monotonic() < last, f"not within {patience:.0f} s: {what}"
        time.sleep(0.05)


class Cluster:
    """Topics of one's own on a broker, with as many workers and projectors as are started."""

    def __init__(
        self, folder: Path, bootstrap: str, forge: Forge, partitions: int = PARTITIONS
    ) -> None:
        self.folder = folder
        self.connection = Connection(bootstrap=bootstrap, prefix=f"test-{uuid4().hex}.")
        self.topics = Topics(self.connection.prefix, partitions)
        self._forge = forge
        self.children: list[Child] = []
        self.run(create(self.connection, partitions))

    def run(self, doing: Coroutine[Any, Any, Result]) -> Result:
        """Do something with the brokers."""
        return asyncio.run(doing)

    def worker(self, name: str = "one", **plan: Any) -> Child:
        """Start a worker; under the same name it takes up what an earlier one left."""
        return self._start("worker", self.folder / name, instance=name, **plan)

    def projector(self, name: str = "store", **plan: Any) -> Child:
        """Start what follows the decisions into a store of its own."""
        return self._start("project", self.folder / name, **plan)

    def _start(self, command: str, folder: Path, **plan: Any) -> Child:
        folder.mkdir(exist_ok=True)
        where = {"bootstrap": self.connection.bootstrap, "prefix": self.topics.prefix}
        child = self._forge.start(
            folder, [command], partitions=self.topics.partitions, **where, **plan
        )
        self.children.append(child)
        return child

    def publish(self, offered: Sequence[Input]) -> None:
        """Publish inputs as a producer would."""
        self.run(self._publish(offered))

    async def _publish(self, offered: Sequence[Input]) -> None:
        client = Client(self.connection, self.topics)
        await client.start()
        try:
            await client.publish(offered)
        finally:
            await client.stop()

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        """Have a request carried out, and return the answer as it came."""
        return self.run(self._ask(request))

    async def _ask(self, request: AnyRequest) -> Mapping[str, Any]:
        client = Client(self.connection, self.topics)
        await client.start()
        try:
            return (await client.ask_each([(request, None)]))[0]
        finally:
            await client.stop()

    def is_decided(self) -> bool:
        """Whether the workers have acknowledged everything that was published."""
        return self.run(self._is_decided())

    async def _is_decided(self) -> bool:
        async with self._asking() as (consumer, asked):
            return await self._is_acknowledged(consumer, asked)

    def decided(self, patience: float = PATIENCE) -> None:
        """Wait until the workers have acknowledged everything that was published."""
        self.run(self._decided(patience))

    async def _decided(self, patience: float) -> None:
        last = time.monotonic() + patience
        async with self._asking() as (consumer, asked):
            while not await self._is_acknowledged(consumer, asked):
                assert time.monotonic() < last, f"not within {patience:.0f} s: all is decided"
                await asyncio.sleep(0.03)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[tuple[AIOKafkaConsumer, AIOKafkaAdminClient]]:
        """Clients for as long as is needed; those of commands give up after seconds."""
        asked = AIOKafkaAdminClient(**self.connection.arguments())
        async with reader(self.connection) as consumer:
            await asked.start()
            try:
                yield consumer, asked
            finally:
                await asked.close()

    async def _is_acknowledged(
        self, consumer: AIOKafkaConsumer, asked: AIOKafkaAdminClient
    ) -> bool:
        at = [
            self.topics.at(kind, partition)
            for kind in ("candidates", "commands")
            for partition in range(self.topics.partitions)
        ]
        ends = {one: end for one, end in (await consumer.end_offsets(at)).items() if end}
        try:
            done = await asked.list_consumer_group_offsets(worker_group(self.topics))
        except GroupCoordinatorNotAvailableError:  # the broker has no group at all yet
            return not ends
        return all(one in done and done[one].offset >= end for one, end in ends.items())

    async def ends(self) -> dict[tuple[str, int], int]:
        """Where the topics that a store follows end."""
        at = [
            self.topics.at(kind, partition)
            for kind in ("decisions", "dead_letters")
            for partition in range(self.topics.partitions)
        ]
        async with reader(self.connection) as consumer:
            ends = await consumer.end_offsets(at)
        return {(one.topic, one.partition): end for one, end in ends.items()}

    def followed(self, name: str = "store") -> None:
        """Wait until a projector's store has everything that is decided, its projections too."""
        ends = self.run(self.ends())
        eventually(lambda: _has_followed(self.folder / name, ends), "the store has followed")
        eventually(lambda: _is_shown(self.folder / name), "the projections follow")

    def close(self) -> None:
        """Kill whatever runs still."""
        for child in self.children:
            child.kill()


def is_ready(child: Child) -> bool:
    """Whether a worker has said that it decides."""
    return "ready: partitions" in said(child)


def said(child: Child) -> str:
    """What a child has told so far."""
    path = Path(f"{child.out}.0.2")
    return path.read_text() if path.exists() else ""


def ended(children: Sequence[Child]) -> list[int]:
    """End children by SIGTERM; their exit statuses."""
    for child in children:
        child.kill(signal.SIGTERM)
    return [child.wait() for child in children]


class ClusterRuntime:
    """One worker and one projector; what is asked is asked of the store that follows.

    `history` is a log from elsewhere, that is imported first.
    """

    def __init__(
        self, folder: Path, bootstrap: str, forge: Forge, history: Sequence[bytes] = ()
    ) -> None:
        self.cluster = cluster = Cluster(folder, bootstrap, forge, FEW_PARTITIONS)
        if history:
            cluster.run(import_lines(cluster.connection, cluster.topics, history, lambda _: None))
        self._worker = self.cluster.worker()
        self._projector = self.cluster.projector()
        self._store = folder / "store"

    def submit(self, rows: Sequence[bytes]) -> list[Mapping[str, Any]]:
        """Publish rows, and find in the log what became of them."""
        offered = inputs(rows)
        before = self._known()
        self.cluster.publish(offered)
        self._settle()
        with self._log() as log:
            outcomes = []
            for one in offered:
                outcomes.append(self._outcome(log, one, before))
                before.add(str(outcomes[-1].get("decision_id")))
            return outcomes

    def _known(self) -> set[str]:
        return {decode(line).id for line in self.log()}

    def _outcome(self, log: Log, one: Input, before: set[str]) -> Mapping[str, Any]:
        rejected = log.find(invalid_id(digest(as_record(one)[1])))
        if rejected is not None:
            assert isinstance(rejected.event, Invalid)
            return {
                "result": "invalid",
                "decision": "invalid",
                "decision_id": rejected.event.id,
                "reason": rejected.event.data.reason,
            }
        if isinstance(one.meaning, InvalidInputError):
            raise AssertionError("an unreadable row left no trace")
        candidate_id = getattr(one.meaning, "candidate_id", None)
        if candidate_id is None:
            return {"result": "heard"}
        found = log.find(decision_id_of(candidate_id))
        assert found is not None, "a candidate left no trace"
        assert isinstance(found.event, Decided)
        entry = fold_owner(log, found.event.owner_id, upto=found.position).entries[candidate_id]
        return {
            "result": "known" if found.event.id in before else "decided",
            "candidate_id": candidate_id,
            "decision": found.event.data.decision,
            "decision_id": found.event.id,
            "joined_to": found.event.data.join.to if found.event.data.join else None,
            "memory_id": entry.memory.id,
        }

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        answer = self.cluster.ask(request)
        self._settle()
        if "refused" in answer:
            raise RefusedError(answer["refused"]["reason"], answer["refused"]["detail"])
        return dict(answer["done"])

    def verify(self, judge: Asked) -> Tally:
        self._settle()

        async def run() -> Tally:
            cluster = self.cluster
            async with TopicQuestions(cluster.connection, cluster.topics) as questions:
                return await verified(questions, judge)

        tally = self.cluster.run(run())
        self._settle()
        return tally

    def rehearse(self, request: AnyRequest) -> Mapping[str, Any]:
        self._settle()
        with self._log() as log:
            return carry_out(Rehearsal(log, load_policy("standard"), lambda: AT), request)

    def log(self) -> list[bytes]:
        """Each owner's in its order; what is nobody's first, the policy before all.

        Between partitions there is no order, so what is nobody's is ordered by id.
        """
        self._settle()
        with self._log() as log:
            lines = [(decode(line), line) for _, line in log.lines()]
        order = {"palimpsest.policy_set.v1": 0, "palimpsest.invalid.v1": 1}
        lines.sort(
            key=lambda one: (
                one[0].owner_id,
                order.get(one[0].type, 2),
                "" if one[0].owner_id else one[0].id,
            )
        )
        return [line for _, line in lines]

    def memories(self, owner_id: str) -> list[Mapping[str, Any]]:
        self._settle()
        eventually(lambda: _is_shown(self._store), "the projections follow")
        return [*query(self._store / PROJECTIONS_FOLDER, MEMORIES, [owner_id])]

    def letters(self) -> list[bytes]:
        self._settle()
        with self._log() as log:
            letters = DeadLetters(log)
            return [letters.original(letter.id) or b"" for letter in letters.letters()]

    def restart(self) -> None:
        self._settle()
        self._worker.kill(15)
        assert self._worker.wait() == 0, self._worker.printed(0, 2)
        self._worker = self.cluster.worker()

    def said(self) -> str:
        """What the worker has told so far."""
        return said(self._worker)

    def stopped(self) -> int:
        """Wait until the worker ends by itself; its exit status."""
        return self._worker.wait()

    def close(self) -> None:
        self.cluster.close()

    def _log(self) -> Log:
        return Log.open(self._store / LOG_FILE)

    def _settle(self) -> None:
        """Wait until everything published is decided, and the store has followed."""
        self.cluster.decided()
        ends = self.cluster.run(self.cluster.ends())
        eventually(lambda: _has_followed(self._store, ends), "the store has followed")


def _has_followed(store: Path, ends: Mapping[tuple[str, int], int]) -> bool:
    if not (store / LOG_FILE).exists():
        return False
    with Log.open(store / LOG_FILE) as log:
        sql = "SELECT topic, partition, next_offset FROM followed"
        followed = {(topic, partition): n for topic, partition, n in log.rows(sql)}
    # The last offset of a partition may be that of a commit marker, which nobody reads.
    return all(followed.get(at, 0) >= end - 1 for at, end in ends.items())


def _is_shown(store: Path) -> bool:
    with Log.open(store / LOG_FILE) as log:
        found = query(store / PROJECTIONS_FOLDER, "SELECT position FROM log_position")
        return bool(found) and found[0]["position"] == log.head()
