"""The broker that tests run on: it keeps what it acknowledged, and says why it does not come up."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from infra.broker import Broker, BrokerError
from infra.distribution import NotAvailableError, fill, find_java, locked, obtain
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import read_metadata
from palimpsest.streams.cluster.setup import create
from palimpsest.streams.cluster.topics import Topics

ROOT = Path(__file__).parents[2]
DECISIONS = TopicPartition(Topics().name("decisions"), 0)
VALUES = [str(number).encode() for number in range(2_000)]


async def publish(connection: Connection) -> None:
    """Publish the values, each acknowledged when this returns."""
    async with AIOKafkaProducer(**connection.arguments(), acks="all") as producer:
        sent = [await producer.send(DECISIONS.topic, value, partition=0) for value in VALUES]
        await asyncio.gather(*sent)


async def published(connection: Connection) -> list[bytes | None]:
    """All values in the order of the topic."""
    consumer = AIOKafkaConsumer(**connection.arguments())
    await consumer.start()
    consumer.assign([DECISIONS])
    consumer.seek(DECISIONS, 0)
    end = (await consumer.end_offsets([DECISIONS]))[DECISIONS]
    values: list[bytes | None] = []
    async with asyncio.timeout(30):
        while len(values) < end:
            values.append((await consumer.getone()).value)
    await consumer.stop()
    return values


@pytest.mark.long
@pytest.mark.usefixtures("startable")
def test_what_was_acknowledged_is_there_however_it_ended(tmp_path: Path) -> None:
    """Killed, then in good order, then killed because it does not end."""
    with Broker(tmp_path) as broker:
        connection = Connection(bootstrap=broker.bootstrap)
        asyncio.run(create(connection, 1))
        asyncio.run(publish(connection))
        for end in (broker.kill, broker.stop):
            end()
            assert broker.pid is None
            broker.start()
            assert asyncio.run(published(connection)) == VALUES
        stopped = broker.pid
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        broker.stop(patience=0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)


@pytest.mark.long
@pytest.mark.usefixtures("startable")
def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = Broker(tmp_path, taken.getsockname()[1])
        with pytest.raises(BrokerError, match="Address already in use"):
            broker.start()
    assert broker.pid is None


IN_FOREGROUND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
runpy.run_module("infra.broker", run_name="__main__", alter_sys=True)
"""


@pytest.mark.long
@pytest.mark.usefixtures("startable")
def test_one_in_the_foreground_prints_its_address_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    words = [sys.executable, "-c", IN_FOREGROUND, "--data", str(tmp_path)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        assert asyncio.run(read_metadata(Connection(bootstrap=address), [])).brokers == 1
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=30)[0] == ""
        assert running.returncode == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def command(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NotAvailableError, match="needs Java 17 or newer: none found"):
        find_java()


@pytest.mark.parametrize("said", ['openjdk version "11.0.2" 2019-01-15', 'version "1.8.0_292"'])
def test_an_old_java_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    command(tmp_path / "bin", "java", f"echo '{said}' >&2")
    with pytest.raises(NotAvailableError, match=r"needs Java 17 or newer; .*version"):
        find_java()


def test_without_maven_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    command(tmp_path / "bin", "java", "echo 'openjdk version \"21.0.2\" 2024-01-16'")
    with pytest.raises(NotAvailableError, match="Maven"):
        obtain(tmp_path / "cache")


def test_a_maven_that_fails_is_quoted_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    command(tmp_path / "bin", "java", "echo 'openjdk version \"21.0.2\" 2024-01-16'")
    command(tmp_path / "bin", "mvn", "echo 'the registry is away'; exit 1")
    with pytest.raises(NotAvailableError, match="the registry is away"):
        obtain(tmp_path / "cache")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_cache_is_filled_once_however_many_ask(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(part: Path) -> None:
        time.sleep(0.05)
        made.append(part)
        part.write_text("whole")

    def ask() -> None:
        with locked(tmp_path):
            fill(tmp_path / "part", make)

    askers = [Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(made) == 1
    assert (tmp_path / "part").read_text() == "whole"


def test_a_part_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        part.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "part", fail)
    assert list(tmp_path.iterdir()) == []
