"""Compares what went into a cluster with what came out of it, reading topics by plain aiokafka.

Nothing of the worker is used: what a record has to lead to follows from its own bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.contracts.events import AnyEvent, Decided, Invalid, PolicySet
from palimpsest.contracts.identity import candidate_id, decision_id_of, digest, invalid_id
from palimpsest.contracts.wire import decode
from palimpsest.projections.verify import verify
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Kind, Topics, partition_of
from palimpsest.streams.log.log import Log
from tests.cluster.cluster import PATIENCE, Cluster
from tests.conformance.runtime import decided
from tests.streams.write.runtime import Runtime

Record: TypeAlias = ConsumerRecord[bytes, bytes]


async def read_topic(
    connection: Connection, topic: str, partitions: int, *, ended: bool = False
) -> list[list[Record]]:
    """Everything committed in each partition of a topic, in order.

    Brokers say that a transaction is committed before they show its records. With `ended` every
    transaction has been ended, and those that are not shown yet are waited for.
    """
    consumer = AIOKafkaConsumer(
        bootstrap_servers=connection.bootstrap,
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        at = [TopicPartition(topic, partition) for partition in range(partitions)]
        begins, ends = await consumer.beginning_offsets(at), await consumer.end_offsets(at)
        if ended:
            async with AIOKafkaConsumer(bootstrap_servers=connection.bootstrap) as of_all:
                ends = await of_all.end_offsets(at)
        consumer.assign(at)
        for one in at:
            consumer.seek(one, begins[one])
        found: list[list[Record]] = [[] for _ in at]
        for _ in range(600):
            if not [one for one in at if await consumer.position(one) < ends[one]]:
                return found
            for one, some in (await consumer.getmany(timeout_ms=200)).items():
                found[one.partition] += some
        raise AssertionError(f"{topic} could not be read to its end within two minutes")
    finally:
        await consumer.stop()


@dataclass
class Report:
    """What an input topic and the decisions about it say when they are put side by side."""

    inputs: int = 0
    decisions: int = 0
    letters: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    reordered: int = 0
    misplaced: int = 0

    @property
    def flawless(self) -> bool:
        """Whether each input has exactly one effect, in its order and its partition."""
        wrong = (self.lost, self.doubled, self.foreign, self.reordered, self.misplaced)
        return not any(wrong)

    def __str__(self) -> str:
        return (
            f"inputs {self.inputs}, decisions {self.decisions}, letters {self.letters},"
            f" lost {len(self.lost)}, doubled {len(self.doubled)}, foreign {len(self.foreign)},"
            f" reordered {self.reordered}, misplaced {self.misplaced}"
        )


def effect_of(record: Record, partitions: int) -> str:
    """The id of the event that a candidate in structured mode or a bare row has to lead to."""
    value = record.value or b""
    try:
        said = orjson.loads(value)
        said = said["data"] | said if "specversion" in said else said
        owner = said["owner_id"]
        known = decision_id_of(candidate_id(owner, said["source"], said["id"]))
    except (ValueError, KeyError, TypeError):
        return invalid_id(digest(value))
    in_place = partition_of(owner, partitions) == record.partition
    return known if in_place and said.get("text", "").strip() else invalid_id(digest(value))


def compared(inputs: Sequence[Sequence[Record]], decisions: Sequence[Sequence[Record]]) -> Report:
    """Put the partitions of both topics side by side."""
    report = Report()
    for number, (offered, lines) in enumerate(zip(inputs, decisions, strict=True)):
        events = [decode(record.value or b"") for record in lines]
        report.inputs += len(offered)
        report.misplaced += _misplaced(events, lines, number, len(inputs))
        _compare(report, [effect_of(record, len(inputs)) for record in offered], events)
    return report


def _misplaced(events: Sequence[AnyEvent], lines: Sequence[Record], number: int, count: int) -> int:
    owners = [(e.owner_id, line.key) for e, line in zip(events, lines, strict=True) if e.owner_id]
    return sum(
        partition_of(owner, count) != number or key != owner.encode() for owner, key in owners
    )


def _compare(report: Report, effects: Sequence[str], events: Sequence[AnyEvent]) -> None:
    expected = list(dict.fromkeys(effects))
    found = [event.id for event in events if isinstance(event, Decided | Invalid)]
    told = [event.data.candidate for event in events if isinstance(event, Decided)]
    candidates = [candidate_id(one.owner_id, one.source, one.id) for one in told]
    report.decisions += len(found)
    report.doubled += _repeated([event.id for event in events]) + _repeated(candidates)
    report.lost += sorted(set(expected) - set(found))
    report.foreign += sorted(set(found) - set(expected))
    both = set(expected) & set(found)
    first = [one for one in dict.fromkeys(found) if one in both]
    order = [one for one in expected if one in both]
    report.reordered += sum(a != b for a, b in zip(first, order, strict=True))


def input_place(letter: Record) -> str:
    """Where a letter's input was: topic, partition and offset."""
    told: bytes = dict(letter.headers)["palimpsest-origin"]
    return told.decode()


def compare_dead_letters(
    report: Report, letters: Sequence[Record], inputs: Sequence[Record], partitions: int
) -> None:
    """Put the letters of a partition beside its inputs: each that is invalid has one, in order.

    Of equal ones the first has its letter with the event. Those after it, where nothing else was
    decided on with them, may have theirs twice after a kill.
    """
    invalid = {
        f"{item.topic}/{item.partition}/{item.offset}": item
        for item in inputs
        if effect_of(item, partitions) == invalid_id(digest(item.value or b""))
    }
    first = {one.value: place for place, one in reversed(invalid.items())}
    places = [input_place(letter) for letter in letters]
    told = list(dict.fromkeys(places))
    report.letters += len(letters)
    report.lost += sorted(set(invalid) - set(told))
    report.doubled += [one for one in _repeated(places) if one in first.values()]
    report.foreign += [
        place
        for place, letter in zip(places, letters, strict=True)
        if place not in invalid or (letter.value or b"") != (invalid[place].value or b"")
    ]
    offsets = [int(place.rpartition("/")[2]) for place in told]
    report.reordered += sum(a > b for a, b in pairwise(offsets))


def _repeated(ids: Sequence[str]) -> list[str]:
    return [one for one, times in Counter(ids).items() if times > 1]


async def check_topics(connection: Connection, topics: Topics) -> Report:
    """The report on candidates against decisions and letters, as they are at the brokers."""
    offered = await _all(connection, topics, "candidates")
    report = compared(offered, await _all(connection, topics, "decisions"))
    name = topics.name("candidates")
    letters = await _all(connection, topics, "dead_letters")
    for some, records in zip(letters, offered, strict=True):
        about = [one for one in some if input_place(one).rpartition("/")[0].startswith(name)]
        compare_dead_letters(report, about, records, topics.partitions)
    return report


async def _all(connection: Connection, topics: Topics, kind: Kind) -> list[list[Record]]:
    return await read_topic(connection, topics.name(kind), topics.partitions)


async def events_of(connection: Connection, topics: Topics) -> dict[str, list[AnyEvent]]:
    """Each owner's events in their order; what is nobody's under the empty name."""
    found: dict[str, list[AnyEvent]] = {}
    for records in await _all(connection, topics, "decisions"):
        for record in records:
            event = decode(record.value or b"")
            found.setdefault(event.owner_id, []).append(event)
    return found


async def embedded_events(
    connection: Connection, topics: Topics, path: Path
) -> dict[str, list[AnyEvent]]:
    """What the embedded runtime decides on the same rows, one partition after the other."""
    offered = await _all(connection, topics, "candidates")
    with Runtime(path) as runtime:
        rows = [record.value or b"" for records in offered for record in records]
        runtime.stream(rows, source="memory.candidates")
        return by_owner(runtime.log)


def by_owner(log: Log) -> dict[str, list[AnyEvent]]:
    """Each owner's events in a log."""
    found: dict[str, list[AnyEvent]] = {}
    for recorded in log.after(0, 10**6):
        found.setdefault(recorded.event.owner_id, []).append(recorded.event)
    return found


def plain(events: Mapping[str, Sequence[AnyEvent]]) -> dict[str, list[dict[str, Any]]]:
    """Owners' events without their times; what is nobody's once, by id, for it has no order."""
    owners = {owner: decided(some) for owner, some in events.items() if owner}
    nobody = {e.id: e for e in events.get("", ()) if not isinstance(e, PolicySet)}
    return owners | {"": decided([nobody[one] for one in sorted(nobody)])}


def check_store(store: Path, events: Mapping[str, Sequence[AnyEvent]]) -> None:
    """A store that follows has the same events, each once, and projections that show them."""
    with Log.open(store / LOG_FILE) as log:
        followed = by_owner(log)
        ids = [event.id for some in followed.values() for event in some]
        assert len(ids) == len(set(ids))
        assert {o: some for o, some in followed.items() if o} == {
            o: list(some) for o, some in events.items() if o
        }
        assert {e.id for e in followed.get("", ())} == {e.id for e in events.get("", ())}
        differences = verify(log, store / PROJECTIONS_FOLDER)
        assert differences["differences"] == 0, differences


def settled(cluster: Cluster, patience: float = PATIENCE) -> Report:
    """Wait until all is decided, and put both topics side by side: nothing may be wrong."""
    cluster.decided(patience)
    report = cluster.run(check_topics(cluster.connection, cluster.topics))
    assert report.flawless, report
    return report


def equal_to_embedded(cluster: Cluster) -> None:
    """What was decided is what one undisturbed process decides on the same rows."""
    found = cluster.run(events_of(cluster.connection, cluster.topics))
    path = cluster.folder / "embedded.sqlite"
    expected = cluster.run(embedded_events(cluster.connection, cluster.topics, path))
    assert plain(found) == plain(expected)


def check_followed(cluster: Cluster, name: str = "store") -> None:
    """A store whose projector has ended shows all that was decided, once."""
    check_store(cluster.folder / name, cluster.run(events_of(cluster.connection, cluster.topics)))
