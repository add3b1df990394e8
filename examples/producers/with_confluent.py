"""A producer on librdkafka: CloudEvents in binary mode; it must set the partitioner.

`python examples/producers/with_confluent.py [BROKER [TOPIC]]`; needs `pip install confluent-kafka`
and nothing of Palimpsest.
"""

from __future__ import annotations

import json
import sys

from confluent_kafka import KafkaError, Message, Producer

MEMORIES = (
    ("1", "ada", "Ada likes to walk in the rain."),
    ("2", "ada", "Ada likes to walk in the rain."),
    ("3", "grace", "Grace paints."),
)


def publish(bootstrap: str = "127.0.0.1:9092", topic: str = "memory.candidates") -> None:
    """Publish the memories; SystemExit if the brokers did not accept all.

    librdkafka's default partitioner differs from Java's: an owner's records would go to another
    partition, and become dead letters there (`wrong_partition`). So it is set here.
    """
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        """Note refused messages: flushing counts them as done, and only this callback sees them."""
        if error is not None:
            refused.append(error)

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
        }
    )
    for number, owner, text in MEMORIES:
        headers = {
            "ce_specversion": "1.0",
            "ce_type": "palimpsest.candidate.v1",
            "ce_source": "examples/with_confluent",
            "ce_id": number,
            "content-type": "application/json",
        }
        body = json.dumps({"owner_id": owner, "text": text}).encode()
        producer.produce(
            topic, body, owner.encode(), headers=[*headers.items()], on_delivery=delivered
        )
    if left := producer.flush(60):
        raise SystemExit(f"records that were not delivered within a minute: {left}")
    if refused:
        raise SystemExit(f"refused records: {len(refused)}, the first for: {refused[0].str()}")


if __name__ == "__main__":
    publish(*sys.argv[1:3])
