"""A local copy of decisions, in the embedded log's format (design section 7).

Disposable: it is filled from the topic, bound to the topic's id, and never ahead of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aiokafka.errors import MessageSizeTooLargeError

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import Envelope, decode, envelope_of
from palimpsest.streams.cluster.records import Done, Outgoing
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.log.log import Lines, Log

CACHE_KIB = 16 * 1024
"""Of one copy: a worker has one for each of its partitions."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How far a copy has a partition of a topic; `next_offset` is the first one not in it."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


Publish = Callable[[Lines, Sequence[Outgoing], Sequence[Done]], int | None]
"""Sends events, other records and which inputs are done with in one transaction of the brokers.

Returns once they have it: the offset after the last event's, or None where there was no event or
they did not tell.
"""


Filed = TypeVar("Filed", AnyEvent, Envelope)
Beside = Callable[[Sequence[AnyEvent]], Sequence[Outgoing]]
"""What other topics are told of events, such as questions to the judge."""


def _nothing_beside(_events: Sequence[AnyEvent]) -> Sequence[Outgoing]:
    return ()


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

    def follow_input(self, done: Done, partition: int) -> None:
        """Record how far an input is decided on; only inside a transaction."""
        self.follow(Followed(done.topic, partition, done.topic_id, done.offset + 1))

    def first_undone(self, topic: str, topic_id: str, partition: int) -> int:
        """The first offset of an input that no decision at the brokers says is done with."""
        found = self.followed(topic, partition)
        return found.next_offset if found is not None and found.topic_id == topic_id else 0

    def new_events(self, lines: Sequence[bytes]) -> Lines:
        """The events of lines that this log does not hold yet; StoreError for what is none."""
        return self._new([(decode(line), line) for line in lines])

    def _new(self, offered: Sequence[tuple[Filed, bytes]]) -> list[tuple[Filed, bytes]]:
        held = self._held({event.id for event, _ in offered})
        new: dict[str, tuple[Filed, bytes]] = {}
        for event, line in offered:
            if event.id not in held:
                new.setdefault(event.id, (event, line))
        return list(new.values())

    def _held(self, ids: set[str]) -> set[str]:
        """Which of these events the log has; in one query: copies are filled with all."""
        keys = {bytes.fromhex(one.replace("-", "")): one for one in ids}
        marks = ", ".join("?" * len(keys))
        sql = f"SELECT id FROM events WHERE id IN ({marks})"  # noqa: S608 - question marks alone
        return {keys[key] for (key,) in self.rows(sql, tuple(keys))}


class PublishedLog(Copy):
    """The copy of a partition's only writer: what it appends is at the brokers first.

    A transaction here is committed once the brokers have answered that theirs is; whatever happens
    before that, the copy stays behind, and catches up when the partition is next assigned.

    What waits for the judge is told to whoever asks it, in the same transaction: no table is kept.
    """

    def __init__(
        self, path: Path, *, create: bool = False, read_only: bool = False, shared: bool = False
    ) -> None:
        self._topic: Followed | None = None
        self._publish: Publish | None = None
        self._lines: list[tuple[AnyEvent, bytes]] = []
        # What else the transaction publishes, and which inputs it is done with.
        self.others: list[Outgoing] = []
        self.done: list[Done] = []
        # Since this transaction: the candidates that the judge has to be asked about, and the joins
        # whose text has to be composed anew, with their owners.
        self.questions: dict[str, str] = {}
        self.lost_texts: dict[str, str] = {}
        self._beside: Beside = _nothing_beside
        # Whether the brokers may have what is not here: only another assignment finds out.
        self.in_doubt = False
        super().__init__(path, create=create, read_only=read_only, shared=shared)
        # What a power failure takes from its end is at the brokers: it is not waited for the disk.
        self.execute("PRAGMA synchronous=NORMAL")
        self.execute(f"PRAGMA cache_size=-{CACHE_KIB}")

    def publish_beside(self, beside: Beside) -> None:
        """From here on publish, with events, what follows from them for other topics."""
        self._beside = beside

    def publish_with(self, publish: Publish, topic: Followed) -> None:
        """From here on what is appended is new: send it to this topic's partition first."""
        self._publish, self._topic = publish, topic

    def fill(self, lines: Sequence[bytes]) -> None:
        """Append what is at the brokers and not here yet; only inside a transaction.

        StoreError for what is no event. Its data are read with its owner.
        """
        self._file(self._new([(envelope_of(line), line) for line in lines]))

    @property
    def appended(self) -> list[AnyEvent]:
        """The events of the transaction so far."""
        return [event for event, _ in self._lines]

    def _add(self, events: Lines) -> list[int]:
        self._lines.extend(events)
        return super()._add(events)

    def follow_touched(self, owner_id: str, touched: Touched, _position: int) -> None:
        """Note what the judge has to be asked when the transaction is published."""
        for noted, changed in (
            (self.questions, touched.questions),
            (self.lost_texts, touched.texts),
        ):
            for subject, waits in changed.items():
                if waits:
                    noted[subject] = owner_id
                else:
                    noted.pop(subject, None)

    def _upgrade(self) -> None:
        pass

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """As `Log.transaction`, and the brokers' before it is committed."""
        self._lines, self.others, self.done = [], [], []
        self.questions, self.lost_texts = {}, {}
        with super().transaction():
            yield
            self._send()
        self.in_doubt = False

    def _send(self) -> None:
        if self._publish is None or self._topic is None or not (self._lines or self.others):
            return
        others = [*self.others, *self._beside(self.appended)]
        self.in_doubt = True
        try:
            next_offset = self._publish(self._lines, others, self.done)
        except MessageSizeTooLargeError:
            self.in_doubt = False
            raise
        if next_offset is not None:
            topic = self._topic
            self.follow(Followed(topic.topic, topic.partition, topic.topic_id, next_offset))
        for done in self.done:
            self.follow_input(done, self._topic.partition)
