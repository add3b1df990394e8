"""A cluster of a test's own: topics on a real broker, and workers and projectors as processes."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.contracts.requests import AnyRequest
from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.cluster.client.client import Client
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import reader
from palimpsest.streams.cluster.setup import create
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.assigned_partition import worker_group
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Input
from tests.reliability.processes import Child, Forge

PATIENCE = 60.0
PARTITIONS = 4
Result = TypeVar("Result")


def eventually(asked: Any, what: str, patience: float = PATIENCE) -> None:
    """Wait until something holds; the test fails when it takes too long."""
    for pause in pauses(what, patience):
        if asked():
            return
        time.sleep(pause)


def pauses(what: str, patience: float) -> Iterator[float]:
    """Seconds between two looks, a tenth of those that were waited: looking takes time of others.

    AssertionError when it takes too long.
    """
    begun = time.monotonic()
    while (waited := time.monotonic() - begun) < patience:
        yield min(max(waited / 10, 0.03), 1.0)
    raise AssertionError(f"not within {patience:.0f} s: {what}")


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

    def _start(self, command: str, folder: Path, forge: Forge | None = None, **plan: Any) -> Child:
        folder.mkdir(exist_ok=True)
        where = {"bootstrap": self.connection.bootstrap, "prefix": self.topics.prefix}
        child = (forge or self._forge).start(
            folder, [command], partitions=self.topics.partitions, **where, **plan
        )
        self.children.append(child)
        return child

    def publish(self, offered: Sequence[Input]) -> None:
        """Publish inputs as a producer would."""
        self.run(self._publish(offered))

    async def _publish(self, offered: Sequence[Input]) -> None:
        async with self.client() as client:
            await client.publish(offered)

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        """Send a request, and return the answer unchanged."""
        return self.run(self._ask(request))

    async def _ask(self, request: AnyRequest) -> Mapping[str, Any]:
        async with self.client() as client:
            return (await client.ask_each([(request, None)]))[0].to_json()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """What publishes candidates and requests."""
        client = Client(self.connection, self.topics)
        await client.start()
        try:
            yield client
        finally:
            await client.stop()

    def is_decided(self) -> bool:
        """Whether the workers have acknowledged everything that was published."""
        return self.run(self._is_decided())

    async def _is_decided(self) -> bool:
        async with reader(self.connection) as consumer, self.administration() as asked:
            return await self._is_acknowledged(consumer, asked)

    def decided(self, patience: float = PATIENCE) -> None:
        """Wait until the workers have acknowledged everything that was published."""
        self.run(self._decided(patience))

    async def _decided(self, patience: float) -> None:
        async with reader(self.connection) as consumer, self.administration() as asked:
            await self.await_decided(consumer, asked, patience)

    async def await_decided(
        self, consumer: AIOKafkaConsumer, asked: AIOKafkaAdminClient, patience: float = PATIENCE
    ) -> None:
        """The same, with clients that are there."""
        try:
            for pause in pauses("all is decided", patience):
                if await self._is_acknowledged(consumer, asked):
                    return
                await asyncio.sleep(pause)
        except AssertionError as late:
            late.add_note(self._told())
            raise

    def _told(self) -> str:
        """The end of what each child has told, with what its threads are doing now."""
        for child in self.children:
            child.kill(signal.SIGUSR1)
        time.sleep(1)
        return "\n".join(f"{child.out}:\n{stderr_of(child)[-6_000:]}" for child in self.children)

    @asynccontextmanager
    async def administration(self) -> AsyncIterator[AIOKafkaAdminClient]:
        """A client for as long as is needed; those of commands give up after seconds."""
        asked = AIOKafkaAdminClient(**self.connection.arguments())
        await asked.start()
        try:
            yield asked
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
        async with reader(self.connection) as consumer:
            return await self._ends(consumer)

    async def await_ends(
        self, committed: AIOKafkaConsumer, written: AIOKafkaConsumer
    ) -> dict[tuple[str, int], int]:
        """The same, once no transaction is open any more; `written` reads what is in one, too.

        A broker may write the marker on decisions after that on the offsets, by which they are
        acknowledged: until then the end is where it was.
        """
        for pause in pauses("all transactions have ended", PATIENCE):
            ends = await self._ends(committed)
            if ends == await self._ends(written):
                return ends
            await asyncio.sleep(pause)
        raise AssertionError("pauses end by an error")

    async def _ends(self, consumer: AIOKafkaConsumer) -> dict[tuple[str, int], int]:
        at = [
            self.topics.at(kind, partition)
            for kind in ("decisions", "dead_letters")
            for partition in range(self.topics.partitions)
        ]
        ends = await consumer.end_offsets(at)
        return {(one.topic, one.partition): end for one, end in ends.items()}

    def followed(self, name: str = "store") -> None:
        """Wait until a projector's store has everything that is decided, its projections too."""
        ends = self.run(self.ends())
        eventually(lambda: has_followed(self.folder / name, ends), "the store has followed")
        eventually(lambda: is_shown(self.folder / name), "the projections follow")

    def close(self) -> None:
        """Kill whatever runs still."""
        for child in self.children:
            child.kill()


class Clients:
    """A cluster's clients, kept: connecting again costs more than most of what tests ask."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._runner.run(self._start())

    async def _start(self) -> None:
        cluster, enter = self._cluster, self._open.enter_async_context
        self._client = await enter(cluster.client())
        self._asked = await enter(cluster.administration())
        self._committed = await enter(reader(cluster.connection))
        self._written = await enter(reader(cluster.connection, "read_uncommitted"))

    def publish(self, offered: Sequence[Input]) -> None:
        """Publish inputs as a producer would."""
        self._runner.run(self._client.publish(offered))

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        """Send a request, and return the answer unchanged."""
        return self._runner.run(self._client.ask_each([(request, None)]))[0].to_json()

    def ends(self) -> dict[tuple[str, int], int]:
        """Where the topics that a store follows end, once all that was published is decided."""
        return self._runner.run(self._ends())

    async def _ends(self) -> dict[tuple[str, int], int]:
        await self._cluster.await_decided(self._committed, self._asked)
        return await self._cluster.await_ends(self._committed, self._written)

    def close(self) -> None:
        """Disconnect."""
        self._runner.run(self._open.aclose())
        self._runner.close()


def is_ready(child: Child) -> bool:
    """Whether a worker has said that it decides."""
    return "ready: partitions" in stderr_of(child)


def stderr_of(child: Child) -> str:
    """What a child has told so far."""
    path = Path(f"{child.out}.0.2")
    return path.read_text() if path.exists() else ""


def environment(connection: Connection) -> dict[str, str]:
    """What tells a command that a person types where the cluster is."""
    return {
        "PALIMPSEST_KAFKA_BOOTSTRAP": connection.bootstrap,
        "PALIMPSEST_KAFKA_PREFIX": connection.prefix,
    }


def ended(children: Sequence[Child]) -> list[int]:
    """End children by SIGTERM; their exit statuses."""
    for child in children:
        child.kill(signal.SIGTERM)
    return [child.wait() for child in children]


def has_followed(store: Path, ends: Mapping[tuple[str, int], int]) -> bool:
    """Whether a store has what lies before these ends of topics."""
    if not (store / LOG_FILE).exists():
        return False
    with Log.open(store / LOG_FILE) as log:
        sql = "SELECT topic, partition, next_offset FROM followed"
        followed = {(topic, partition): n for topic, partition, n in log.rows(sql)}
    # The last offset of a partition may be that of a commit marker, which nobody reads.
    return all(followed.get(at, 0) >= end - 1 for at, end in ends.items())


def is_shown(store: Path) -> bool:
    """Whether a store's projections show all that its log has."""
    with Log.open(store / LOG_FILE) as log:
        found = query(store / PROJECTIONS_FOLDER, "SELECT position FROM log_position")
        return bool(found) and found[0]["position"] == log.head()
