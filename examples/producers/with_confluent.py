"""A producer on librdkafka: CloudEvents in binary mode, and the partitioner that must be named.

`python examples/producers/with_confluent.py 127.0.0.1:9092 [TOPIC]`; needs
`pip install confluent-kafka` and nothing of Palimpsest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from confluent_kafka import Producer

MEMORIES = (
    ("1", "ada", "Ada likes to walk in the rain."),
    ("2", "ada", "Ada likes to walk in the rain."),
    ("3", "grace", "Grace paints."),
)


def publish(bootstrap: str, topic: str, memories: Iterable[tuple[str, str, str]]) -> None:
    """Publish memories.

    librdkafka's own partitioner is another than that of Java: an owner would land elsewhere, and
    what lands elsewhere becomes a dead letter (`wrong_partition`). So it is named here.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
        }
    )
    for number, owner, text in memories:
        headers = {
            "ce_specversion": "1.0",
            "ce_type": "palimpsest.candidate.v1",
            "ce_source": "examples/with_confluent",
            "ce_id": number,
            "content-type": "application/json",
        }
        body = json.dumps({"owner_id": owner, "text": text}).encode()
        producer.produce(topic, body, owner.encode(), headers=[*headers.items()])
    if left := producer.flush(30):
        raise SystemExit(f"{left} records were not taken")


if __name__ == "__main__":
    where, name = (*sys.argv[1:], "127.0.0.1:9092", "memory.candidates")[0:2]
    publish(where, name, MEMORIES)
