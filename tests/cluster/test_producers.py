"""Producers that know nothing of Palimpsest: the examples, and Kafka's own console producer."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from examples.producers import with_aiokafka, with_confluent
from infra.distribution import NotAvailableError, cache_folder, locked, obtain_tools
from palimpsest import Palimpsest
from tests.cluster.cluster import Cluster, eventually
from tests.cluster.shared import no_cluster

CONSOLE = Path(with_aiokafka.__file__).with_name("with_console.sh")
SPOKEN = (  # a bare row is named by its bytes: the last is the one before it
    ("ada", "Ada has a big dog."),
    ("ada", "Ada likes to walk in the rain."),
    ("hedda", "Hedda mends old clocks."),
    ("hedda", "Hedda mends old clocks."),
)

EXPECTED = [
    ("Ada has a big dog.", "examples/with_aiokafka"),
    ("Ada has a big dog.", "memory.candidates"),
    ("Ada likes to walk in the rain.", "examples/with_confluent"),
    ("Ada likes to walk in the rain.", "memory.candidates"),
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
    """Java, librdkafka and aiokafka agree on an owner's partition: no dead letter, one history."""
    bootstrap, topic = cluster.connection.bootstrap, cluster.topics.name("candidates")
    cluster.worker()
    cluster.projector()
    asyncio.run(with_aiokafka.publish(bootstrap, topic, with_aiokafka.MEMORIES))
    with_confluent.publish(bootstrap, topic, with_confluent.MEMORIES)
    cluster.decided()
    speak(console_producer, bootstrap, topic)
    store = cluster.folder / "store"
    eventually(lambda: len(repeats(store)) == len(EXPECTED), "all are shown")
    assert repeats(store) == EXPECTED
    with Palimpsest.open(store, create=False) as opened:
        assert opened.dead_letters() == []


def repeats(store: Path) -> list[tuple[str, str]]:
    """Text and source of each row of `dedup_log` that is a repeat."""
    query = "SELECT new_text, existing_text, source FROM dedup_log WHERE joined ORDER BY ALL"
    with Palimpsest.open(store, create=False) as opened:
        rows = opened.sql(query)
    assert all(row["new_text"] == row["existing_text"] for row in rows)
    return [(row["new_text"], row["source"]) for row in rows]
