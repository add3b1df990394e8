"""A producer on aiokafka: CloudEvents in structured mode, the owner as the key.

`python examples/producers/with_aiokafka.py [BROKER [TOPIC]]`; needs `pip install aiokafka` and
nothing of Palimpsest.
"""

from __future__ import annotations

import asyncio
import json
import sys

from aiokafka import AIOKafkaProducer

MEMORIES = (
    ("1", "ada", "Ada has a big dog."),
    ("2", "ada", "Ada has a big dog."),
    ("3", "grace", "Grace sails."),
)


def event(number: str, owner: str, text: str) -> bytes:
    """A candidate as a CloudEvent; `source` and `id` name it, so sending it twice is harmless."""
    told = {
        "specversion": "1.0",
        "type": "palimpsest.candidate.v1",
        "source": "examples/with_aiokafka",
        "id": number,
        "data": {"owner_id": owner, "text": text},
    }
    return json.dumps(told).encode()


async def publish(bootstrap: str = "127.0.0.1:9092", topic: str = "memory.candidates") -> None:
    """Publish the memories; aiokafka's own partitioner is the right one.

    KafkaError if the brokers did not accept all: the futures report that, and flushing does not.
    """
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", enable_idempotence=True
    ) as producer:
        sent = [
            await producer.send(topic, event(number, owner, text), key=owner.encode())
            for number, owner, text in MEMORIES
        ]
        await asyncio.gather(*sent)


if __name__ == "__main__":
    asyncio.run(publish(*sys.argv[1:3]))
