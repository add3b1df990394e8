"""A blocking client of a cluster, which connects once and runs an event loop on its own thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

from palimpsest.contracts.answers import Answer
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.requests import Request
from palimpsest.streams.cluster.client.client import Addressed, Client
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import as_transient
from palimpsest.streams.cluster.topics import read_topics, topic_id
from palimpsest.streams.write.inputs import Input

Result = TypeVar("Result")
LATER = "try again later"


class ClusterClient:
    """Connects on creation. `followed` has the ids of the store's topics, by name.

    Raises StoreError if there are no topics, TransientError if no broker answers, UsageError if the
    store follows other topics.
    """

    def __init__(self, connection: Connection, followed: Mapping[str, str]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(_connected(connection, followed))
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Disconnect, once everything is sent."""
        try:
            self._run(self._client.stop())
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def publish(self, inputs: Sequence[Input]) -> int:
        """Publish inputs in order; returns once the brokers have them."""
        return self._run(self._client.publish(inputs))

    def ask_each(self, asked: Sequence[Addressed]) -> list[Answer]:
        """Send requests; returns for each the merged answer of its partitions."""
        return self._run(self._client.ask_each(asked))

    def ask(self, request: Request, owner_id: str) -> Future[Answer]:
        """Send a request about an owner; returns the future of its answer, without waiting."""

        async def answer() -> Answer:
            with as_transient(LATER):
                [answered] = await self._client.ask_each([(request, owner_id)])
            return answered

        return asyncio.run_coroutine_threadsafe(answer(), self._loop)

    def behind(self, followed: Mapping[tuple[str, int], int]) -> int:
        """The number of records of the decisions topic beyond these offsets, with markers."""
        return self._run(self._client.behind(followed))

    def _run(self, call: Coroutine[Any, Any, Result]) -> Result:
        with as_transient(LATER):
            return asyncio.run_coroutine_threadsafe(call, self._loop).result()


async def _connected(connection: Connection, followed: Mapping[str, str]) -> Client:
    topics = await read_topics(connection)
    decisions = topics.name("decisions")
    if followed and followed.get(decisions) != await topic_id(connection, decisions):
        raise UsageError(
            f"the store follows {', '.join(sorted(followed))} of another cluster or prefix:"
            " give that one (--bootstrap, --prefix), or another store"
        )
    client = Client(connection, topics)
    await client.start()
    return client
