"""The folder of a worker's local copies: opened, filled from the brokers, thrown away."""

from __future__ import annotations

import logging
from pathlib import Path

from palimpsest.contracts.errors import StoreError
from palimpsest.streams.cluster.copy import Followed, WorkerCopy
from palimpsest.streams.cluster.following import Records
from palimpsest.streams.cluster.records import inputs_done
from palimpsest.streams.cluster.topics import Topics

_log = logging.getLogger(__name__)


def open_copy(
    folder: Path, topics: Topics, partition: int, identity: str, end: int
) -> tuple[WorkerCopy, Followed]:
    """The partition's copy in a folder; a new one where what is there is of another topic.

    `identity` is the id of the decisions topic, `end` its end. Raises StoreError.
    """
    path = folder / f"{topics.prefix}partition-{partition}.sqlite"
    name = topics.name("decisions")
    for _ in range(2):
        log: WorkerCopy | None = None
        try:
            log = WorkerCopy.create(path)
            followed = log.followed(name, partition)
            if followed is None and not log.head():
                followed = Followed(name, partition, identity, 0)
                with log.transaction():
                    log.follow(followed)
            if followed and followed.topic_id == identity and followed.next_offset <= end:
                return log, followed
            log.close()
            _log.warning("the copy of partition %d is of another topic: made anew", partition)
        except StoreError as error:
            if log is not None:
                log.close()
            _log.warning("the copy of partition %d is made anew: %s", partition, error)
        discard(path)
    raise StoreError(f"the copy {path} cannot be made")


def take_over(logs: dict[int, WorkerCopy], records: Records, identity: str) -> None:
    """Append decisions to their copies, with how far they are."""
    for partition in {record.partition for record in records}:
        some = [record for record in records if record.partition == partition]
        log = logs[partition]
        with log.transaction():
            log.fill([record.value or b"" for record in some])
            last = some[-1]
            log.follow(Followed(last.topic, partition, identity, last.offset + 1))
            for record in some:
                for done in inputs_done(tuple(record.headers)):
                    log.follow_input(done, partition)


def let_go(log: WorkerCopy, because: BaseException | None) -> None:
    """Close a copy, and remove one that is damaged."""
    log.close()
    if isinstance(because, StoreError):
        discard(log.path)


def discard(copy: Path) -> None:
    """Remove a copy that cannot be used: the next assignment fills another from the brokers."""
    for left in copy.parent.glob(f"{copy.name}*"):
        left.unlink()
