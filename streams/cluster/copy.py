"""A local copy of decisions, in the embedded log's format (design section 7).

Disposable: it is filled from the topic, bound to the topic's id, and never ahead of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contracts.events import AnyEvent
from contracts.wire import Recorded, decode
from streams.cluster.records import Outgoing
from streams.embedded.log import Log

Lines = Sequence[tuple[AnyEvent, bytes]]


@dataclass(frozen=True, slots=True)
class Followed:
    """How far a copy has a partition of a topic; `next_offset` is the first one not in it."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


Publish = Callable[[Lines, Sequence[Outgoing], Mapping[str, int]], int | None]
"""Sends events, other records and which inputs are done with in one transaction of the brokers.

Returns once they have it: the offset after the last event's, or None where there was no event.
"""


class Copy(Log):
    """A log that follows topics; how far is in the same transaction as the lines."""

    def followed(self, topic: str, partition: int) -> Followed | None:
        """How far this copy has a partition; None where it has nothing of it."""
        row = self.row(
            "SELECT topic, partition, topic_id, next_offset FROM followed"
            " WHERE topic = ? AND partition = ?",
            (topic, partition),
        )
        return None if row is None else Followed(*row)

    def follow(self, followed: Followed) -> None:
        """Record how far this copy is; only inside a transaction."""
        self.require_transaction()
        self.execute(
            "INSERT INTO followed (topic, partition, topic_id, next_offset) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (topic, partition) DO UPDATE SET"
            " topic_id = excluded.topic_id, next_offset = excluded.next_offset",
            (followed.topic, followed.partition, followed.topic_id, followed.next_offset),
        )

    def new_events(self, lines: Sequence[bytes]) -> Lines:
        """The events of lines that this log does not hold yet; StoreError for what is none."""
        new: dict[str, tuple[AnyEvent, bytes]] = {}
        for line in lines:
            event = decode(line)
            if event.id not in new and self.find(event.id) is None:
                new[event.id] = (event, line)
        return list(new.values())

    def take_over(self, lines: Lines) -> list[Recorded]:
        """Append events byte for byte as the brokers have them; only inside a transaction."""
        positions = self._add(lines)
        return [
            Recorded(position, event) for position, (event, _) in zip(positions, lines, strict=True)
        ]


class PublishedLog(Copy):
    """The copy of a partition's only writer: what it appends is at the brokers first.

    A transaction here is committed once the brokers have answered that theirs is; whatever happens
    before that, the copy stays behind, and catches up when the partition is next assigned.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._topic: Followed | None = None
        self._publish: Publish | None = None
        self._lines: list[tuple[AnyEvent, bytes]] = []
        # What else the transaction publishes, and which inputs it is done with.
        self.others: list[Outgoing] = []
        self.done: dict[str, int] = {}
        super().__init__(path, create=create, read_only=read_only)

    def publish_with(self, publish: Publish, topic: Followed) -> None:
        """From here on what is appended is new: send it to this topic's partition first."""
        self._publish, self._topic = publish, topic

    @property
    def appended(self) -> list[AnyEvent]:
        """The events of the transaction so far."""
        return [event for event, _ in self._lines]

    def _add(self, events: Lines) -> list[int]:
        self._lines.extend(events)
        return super()._add(events)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """As `Log.transaction`, and the brokers' before it is committed."""
        self._lines, self.others, self.done = [], [], {}
        with super().transaction():
            yield
            self._send()

    def _send(self) -> None:
        if self._publish is None or self._topic is None or not (self._lines or self.others):
            return
        next_offset = self._publish(self._lines, self.others, self.done)
        if next_offset is not None:
            topic = self._topic
            self.follow(Followed(topic.topic, topic.partition, topic.topic_id, next_offset))
        for name, offset in self.done.items():
            self.follow(Followed(name, self._topic.partition, "", offset + 1))
