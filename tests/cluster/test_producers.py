"""Producers that know nothing of Palimpsest: the examples, and Kafka's own console producer."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError
from confluent_kafka import Producer

from examples.producers import with_aiokafka, with_confluent
from infra.distribution import NotAvailableError, cache_folder, locked, obtain_tools
from palimpsest import Palimpsest
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Kind, Topics
from tests.cluster.cluster import Cluster, eventually
from tests.cluster.shared import no_cluster
from tests.cluster.test_topics import ask_admin, make

CONSOLE = Path(with_aiokafka.__file__).with_name("with_console.sh")
SPOKEN = (  # a bare row is a new saying each time: the last repeats the one before it
    ("ada", "Ada has a big dog."),
    ("ada", "Ada likes to walk in the rain."),
    ("hedda", "Hedda mends old clocks."),
    ("hedda", "Hedda mends old clocks."),
)

CODECS = ("gzip", "lz4", "snappy", "zstd")
REPEATED = " ".join(["Ines knits scarves."] * 20)
"""A client compresses only what gets shorter."""
EXPECTED = [
    ("Ada has a big dog.", "examples/with_aiokafka"),
    ("Ada has a big dog.", "memory.candidates"),
    ("Ada likes to walk in the rain.", "examples/with_confluent"),
    ("Ada likes to walk in the rain.", "memory.candidates"),
    ("Hedda mends old clocks.", "memory.candidates"),
    *((REPEATED, codec) for codec in CODECS),
]


@pytest.fixture(scope="session")
def console_producer() -> str:
    """The command of Kafka's console producer, out of its published jars."""
    cache = cache_folder()
    try:
        with locked(cache):
            tools = obtain_tools(cache)
    except NotAvailableError as error:
        no_cluster(str(error))
        raise
    return " ".join(tools.tool("ConsoleProducer"))


def speak(command: str, bootstrap: str, topic: str) -> None:
    lines = (f'{owner}\t{{"owner_id": "{owner}", "text": "{text}"}}\n' for owner, text in SPOKEN)
    subprocess.run(
        ["sh", str(CONSOLE), bootstrap, topic],
        input="".join(lines),
        env=os.environ | {"KAFKA_CONSOLE_PRODUCER": command},
        text=True,
        check=True,
        timeout=60,
    )


def test_candidates_of_any_producer_show_in_the_dedup_log(
    cluster: Cluster, console_producer: str
) -> None:
    """Java, librdkafka and aiokafka agree on an owner's partition: no dead letter, one history.

    What a client compresses is read, and so are decisions that the brokers compress.
    """
    bootstrap, topic = cluster.connection.bootstrap, cluster.topics.name("candidates")
    cluster.worker()
    cluster.projector()
    for codec in CODECS:
        compress_decisions(cluster, codec)
        publish_compressed(bootstrap, topic, codec)
        cluster.decided()
    asyncio.run(with_aiokafka.publish(bootstrap, topic))
    with_confluent.publish(bootstrap, topic)
    cluster.decided()
    speak(console_producer, bootstrap, topic)
    store = cluster.folder / "store"
    eventually(lambda: len(repeats(store)) == len(EXPECTED), "all are shown")
    assert repeats(store) == EXPECTED
    with Palimpsest.open(store, create=False) as opened:
        assert opened.dead_letters() == []


def test_the_broker_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word is the broker, the second the topic; either may be left out."""
    asked: list[tuple[str, str]] = []

    class Taking:
        """Stands in for the producer: on a real broker the topic may be somebody's."""

        def __init__(self, settings: dict[str, Any]) -> None:
            self._bootstrap = settings["bootstrap.servers"]

        def produce(self, topic: str, *_: Any, **__: Any) -> None:
            asked.append((self._bootstrap, topic))

        def flush(self, _seconds: float) -> int:
            return 0

    monkeypatch.setattr(confluent_kafka, "Producer", Taking)
    for words in ([], ["kafka-1:9092"], ["kafka-1:9092", "staging.memory.candidates"]):
        monkeypatch.setattr(sys, "argv", [with_confluent.__file__, *words])
        runpy.run_path(with_confluent.__file__, run_name="__main__")
    assert list(dict.fromkeys(asked)) == [
        ("127.0.0.1:9092", "memory.candidates"),
        ("kafka-1:9092", "memory.candidates"),
        ("kafka-1:9092", "staging.memory.candidates"),
    ]


def test_what_the_brokers_refuse_is_reported(connection: Connection) -> None:
    """Flushing alone would end well: what is too large is refused one by one.

    The topic is made with its limit: a busy broker is late to mind one that is changed.
    """
    name = Topics(connection.prefix).name("candidates")
    make(connection, NewTopic(name, 1, 1, topic_configs={"max.message.bytes": "100"}))
    with pytest.raises(SystemExit, match=r"refused records: 3, .*too large"):
        with_confluent.publish(connection.bootstrap, name)
    with pytest.raises(MessageSizeTooLargeError):
        asyncio.run(with_aiokafka.publish(connection.bootstrap, name))


def test_without_kafkas_command_its_script_says_so(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["/bin/sh", str(CONSOLE)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 127
    assert "there is no kafka-console-producer.sh: it comes with a Kafka distribution" in ran.stderr


def compress_decisions(cluster: Cluster, codec: str) -> None:
    """Make the brokers write them in this form, whatever the worker sends."""
    change(cluster.connection, cluster.topics, "decisions", {"compression.type": codec})


def change(connection: Connection, topics: Topics, topic: Kind, settings: dict[str, str]) -> None:
    """Give a topic other settings than it has to have."""
    name = topics.name(topic)
    told = topics.names[name].settings | settings
    changed = ConfigResource(ConfigResourceType.TOPIC, name, told)
    ask_admin(connection, lambda admin: admin.alter_configs([changed]))


def publish_compressed(bootstrap: str, topic: str, codec: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "partitioner": "murmur2_random",
            "compression.type": codec,
            "linger.ms": 50,
        }
    )
    for number in range(2):
        row = {"owner_id": codec, "source": codec, "id": str(number), "text": REPEATED}
        producer.produce(topic, json.dumps(row).encode(), codec.encode())
    assert producer.flush(30) == 0


def repeats(store: Path) -> list[tuple[str, str]]:
    """Text and source of each row of `dedup_log` that is a repeat."""
    query = "SELECT new_text, existing_text, source FROM dedup_log WHERE joined ORDER BY ALL"
    with Palimpsest.open(store, create=False) as opened:
        rows = opened.sql(query)
    assert all(row["new_text"] == row["existing_text"] for row in rows)
    return [(row["new_text"], row["source"]) for row in rows]
