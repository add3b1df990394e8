"""A local copy of decisions, in the embedded log's format (docs/design.md, Two runtimes).

Disposable: it is filled from the topic, bound to the topic's id, and never ahead of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import Envelope, decode, envelope_of
from palimpsest.streams.log.log import Lines, Log
from palimpsest.streams.write.commit import InputOffset

CACHE_KIB = 16 * 1024
"""Of one copy: a worker has one for each of its partitions."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How far a copy has a partition of a topic; `next_offset` is the first one not in it."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


Filed = TypeVar("Filed", AnyEvent, Envelope)


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

    def follow_input(self, done: InputOffset, partition: int) -> None:
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


class WorkerCopy(Copy):
    """A worker's copy of one of its partitions: what is appended here is at the brokers first.

    What waits for the judge is published to whoever asks it: no table of it is kept.
    """

    def __init__(
        self, path: Path, *, create: bool = False, read_only: bool = False, shared: bool = False
    ) -> None:
        super().__init__(path, create=create, read_only=read_only, shared=shared)
        # What a power failure takes from its end is at the brokers: it is not waited for the disk.
        self.execute("PRAGMA synchronous=NORMAL")
        self.execute(f"PRAGMA cache_size=-{CACHE_KIB}")

    def fill(self, lines: Sequence[bytes]) -> None:
        """Append what is at the brokers and not here yet; only inside a transaction.

        StoreError for what is no event. Its data are read with its owner.
        """
        self.append_lines(self._new([(envelope_of(line), line) for line in lines]))

    def _upgrade(self) -> None:
        pass
