"""A broker with topics for one measurement: its workers, and the records published and read."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
from aiokafka import AIOKafkaConsumer

from bench.rows import batched
from bench.scratch import OwnedText, inputs, scratch_folder
from infra.broker import Broker, free_port
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.client.client import Client
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import begin_at, reader
from palimpsest.streams.cluster.setup import create
from palimpsest.streams.cluster.topics import Topics

PARTITIONS = 6
PATIENCE = 240.0
AT_ONCE = 2_000
ATTEMPTS = 6
POLL_SECONDS = 0.02
READY = "ready: partitions"


class StuckError(Exception):
    """An awaited event did not happen in time."""


@dataclass(frozen=True)
class Worker:
    """A running worker; `log` is the file with its output."""

    process: subprocess.Popen[bytes]
    log: Path
    web_port: int

    def says(self, words: str) -> bool:
        """Whether its output contains these words so far."""
        return words in self.log.read_text(errors="replace")

    def kill(self) -> None:
        """Kill it at once."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Tell it to end, and wait until it has ended."""
        self.process.terminate()
        self.process.wait(PATIENCE)

    def resident(self) -> float:
        """Its resident memory in MB (Linux)."""
        return self._memory("VmRSS")

    def most_resident(self) -> float:
        """Its peak resident memory in MB (Linux)."""
        return self._memory("VmHWM")

    def _memory(self, which: str) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(which))
        return int(line.split()[1]) / 2**10

    def cpu_seconds(self) -> float:
        """The processor time that it took so far (Linux)."""
        return cpu_seconds(self.process.pid)

    def figures(self) -> dict[str, float]:
        """Its metrics by name and labels."""
        with urlopen(f"http://127.0.0.1:{self.web_port}/metrics", timeout=10) as page:
            lines = page.read().decode().splitlines()
        told = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in told}


def cpu_seconds(pid: int) -> float:
    """The processor time that a process took so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Installation:
    """Topics on a dedicated broker, in a temporary folder."""

    def __init__(self, folder: Path, broker: Broker, partitions: int) -> None:
        self.folder = folder
        self._broker = broker
        self.connection = Connection(bootstrap=broker.bootstrap)
        self.topics = Topics("", partitions)
        self._workers: list[Worker] = []
        self._decisions = [self.topics.at("decisions", number) for number in range(partitions)]
        self._counted = dict.fromkeys(self._decisions, 0)
        for left in reversed(range(ATTEMPTS)):
            try:
                asyncio.run(create(self.connection, partitions))
                break
            except TransientError:  # with hundreds of partitions, some have no leader for a while
                if not left:
                    raise

    def broker_cpu_seconds(self) -> float:
        """The processor time that the broker took so far (Linux)."""
        assert self._broker.pid is not None
        return cpu_seconds(self._broker.pid)

    def worker(
        self, name: str, *, stub: bool, standby: bool = False, most_candidates: int | None = None
    ) -> Worker:
        """Start a worker; with an earlier worker's name it continues with that one's replicas.

        `most_candidates` bounds the ledgers that it loads, so that they are full soon.
        """
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        web_port = free_port()
        plan = {
            "folder": str(folder),
            "instance": name,
            "stub": stub,
            "standby": standby,
            "web_port": web_port,
            "most_candidates": most_candidates,
        }
        return self._started(self._planned("bench.worker", plan), folder, web_port, {})

    def _planned(self, module: str, plan: dict[str, Any]) -> list[str]:
        plan |= {"bootstrap": self.connection.bootstrap, "partitions": self.topics.partitions}
        return ["-m", module, orjson.dumps(plan).decode()]

    def echo(self, *, together: bool) -> Worker:
        """Start a bare loop instead of a worker (see bench/echo.py); it has no metrics."""
        folder = self.folder / "echo"
        folder.mkdir()
        return self._started(self._planned("bench.echo", {"together": together}), folder, 0, {})

    def shipped_worker(self, name: str) -> Worker:
        """Start `palimpsest worker` without a model: unreadable records need none."""
        folder = self.folder / name
        folder.mkdir()
        web_port = free_port()
        words = ["-m", "palimpsest", "worker", "--bootstrap", self.connection.bootstrap]
        words += ["--data", str(folder / "replicas"), "--web-port", str(web_port)]
        return self._started(words, folder, web_port, {"PALIMPSEST_ENGINE": "none"})

    def _started(
        self, words: Sequence[str], folder: Path, web_port: int, settings: dict[str, str]
    ) -> Worker:
        log = folder / "said"
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with log.open("wb") as texts:
            process = subprocess.Popen(
                [sys.executable, *words],
                stdout=texts,
                stderr=texts,
                env=os.environ | paths | settings,
            )
        self._workers.append(Worker(process, log, web_port))
        return self._workers[-1]

    def publish(self, texts: Iterable[OwnedText]) -> None:
        """Publish candidates; returns once the brokers have them."""

        async def publish() -> None:
            async with self.client() as client:
                for some in batched(inputs(texts), AT_ONCE):
                    await client.publish(some)

        asyncio.run(publish())

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A producer."""
        client = Client(self.connection, self.topics)
        await client.start()
        try:
            yield client
        finally:
            await client.stop()

    @asynccontextmanager
    async def decisions(self) -> AsyncIterator[AIOKafkaConsumer]:
        """A consumer of the decisions from now on."""
        async with reader(self.connection) as consumer:
            begin_at(consumer, await consumer.end_offsets(self._decisions))
            yield consumer

    def decided(self, count: int) -> list[tuple[float, int]]:
        """Wait for more decisions; returns the time and the size of each batch that was read."""
        return asyncio.run(self._decided(count))

    async def _decided(self, count: int) -> list[tuple[float, int]]:
        found: list[tuple[float, int]] = []
        deadline = time.perf_counter() + PATIENCE
        async with reader(self.connection) as consumer:
            begin_at(consumer, self._counted)
            while count > 0:
                if time.perf_counter() > deadline:
                    raise StuckError(f"{count} decisions are missing")
                some = await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))
                new = sum(map(is_decision, (r for records in some.values() for r in records)))
                if new:
                    found.append((time.perf_counter(), new))
                    count -= new
            self._counted = {at: await consumer.position(at) for at in self._counted}
        return found

    def close(self) -> None:
        """End the workers that still run."""
        for worker in self._workers:
            worker.process.send_signal(signal.SIGKILL)
            worker.process.wait()


def is_decision(record: object) -> bool:
    """Whether a record is a candidate's decision, and not the policy at the beginning."""
    return b'"palimpsest.decided.v1"' in (getattr(record, "value", None) or b"")


@contextmanager
def installation(partitions: int = PARTITIONS) -> Iterator[Installation]:
    """Topics on a new broker. NotAvailableError if there is no Java."""
    with (
        scratch_folder() as folder,
        Broker(folder / "broker") as broker,
        closing(Installation(folder, broker, partitions)) as made,
    ):
        yield made


def until(holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until something holds. StuckError if that takes too long."""
    deadline = time.perf_counter() + patience
    while not holds():
        if time.perf_counter() > deadline:
            raise StuckError(what)
        time.sleep(POLL_SECONDS)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
