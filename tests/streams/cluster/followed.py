"""Decisions as a store that follows a cluster takes them, without brokers and projections."""

from __future__ import annotations

from collections.abc import Sequence

from aiokafka import ConsumerRecord

from palimpsest.projections.base.rows import Rows
from palimpsest.projections.projector import Report
from palimpsest.streams.cluster.reader import Offsets, Record, TopicPartition
from palimpsest.streams.cluster.topics import Topics


class Unprojected:
    """Stands where the projector is."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def start(self) -> Report:
        """Nothing was to be repaired."""
        return Report()

    def submit(self, rows: Rows) -> None:
        """Nobody looks at them."""

    def close(self) -> None:
        """There is nothing to close."""


def records(topics: Topics, lines: Sequence[bytes], start: int) -> list[Record]:
    """Lines as records of the decisions topic, from an offset on."""
    name = topics.name("decisions")
    return [
        ConsumerRecord(name, 0, offset, 0, 0, None, line, None, 0, len(line), ())
        for offset, line in enumerate(lines, start)
    ]


def offsets(topics: Topics, offset: int) -> Offsets:
    """Where that topic's partition goes on."""
    return {TopicPartition(topics.name("decisions"), 0): offset}
