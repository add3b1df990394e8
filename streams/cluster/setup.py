"""Creates missing topics, and reports what is wrong with existing ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import ExistingTopic, Metadata, answering, read_metadata
from palimpsest.streams.cluster.reader import reader
from palimpsest.streams.cluster.topics import (
    FOR_EVER,
    PARTITIONS,
    TOPICS,
    Topics,
    TopicSpec,
    count_there,
    wrong_count,
)

REPLICATION = 3
"""Copies of each partition, if there are enough brokers."""
INSYNC = "min.insync.replicas"
DELETING = ("cleanup.policy", "retention.ms", "retention.bytes")
"""The settings by which brokers delete records."""
ALTER = (
    "kafka-configs.sh --alter --entity-type topics --entity-name {name}"
    " --add-config {setting}={wanted}"
)
MORE_COPIES = (
    "kafka-reassign-partitions.sh adds copies: a single one is lost with its broker's disk"
)

RESTORE = (
    "stop the workers, keep their replicas and every store; palimpsest topics restore fills a new"
    " topic from a store or an export"
)

State = Literal["made", "there", "missing", "differs"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A topic's state, or what was done to it; with advice if something is wrong."""

    topic: str
    state: State
    detail: str
    advice: str | None = None

    @property
    def fine(self) -> bool:
        """Whether the topic is as required."""
        return self.state in {"made", "there"}


async def create(
    connection: Connection, partitions: int | None = None, replication: int | None = None
) -> list[Finding]:
    """Create the missing topics; report on the others without changing them.

    `partitions` defaults to the existing topics' number, or 12; `replication` to 3, or the number
    of brokers if that is lower. TransientError if no broker answers.
    """
    before = await read_metadata(connection, list(Topics(connection.prefix).names))
    wanted = partitions or count_there(connection, before) or PARTITIONS
    topics = Topics(connection.prefix, wanted)
    copies = replication or min(REPLICATION, before.brokers)
    missing = [name for name in topics.names if name not in before.topics]
    await _make(connection, [_new(topics, name, copies) for name in missing])
    await _wait_until_shown(connection, missing)
    return [
        replace(finding, state="made") if finding.fine and finding.topic in missing else finding
        for finding in await check(connection, wanted)
    ]


async def create_one(connection: Connection, topics: Topics, name: str, replication: int) -> None:
    """Create one topic with its settings, and wait until a broker shows it."""
    await _make(connection, [_new(topics, name, replication)])
    await _wait_until_shown(connection, [name])


async def check(connection: Connection, partitions: int | None = None) -> list[Finding]:
    """Compare the topics with the requirements; returns at least one finding per topic.

    By default, the other topics must have as many partitions as the decisions topic.
    """
    names = list(Topics(connection.prefix).names)
    found = await read_metadata(connection, names)
    wanted = partitions or count_there(connection, found) or PARTITIONS
    topics = Topics(connection.prefix, wanted)
    settings = await _settings(connection, list(found.topics))
    findings = [
        finding
        for name in topics.names
        for finding in compare(name, topics, found, settings.get(name, {}))
    ]
    return findings + await _deleted(connection, topics, found)


async def _deleted(connection: Connection, topics: Topics, metadata: Metadata) -> list[Finding]:
    """The partitions of the decisions whose first records were deleted."""
    name = topics.name("decisions")
    if (there := metadata.topics.get(name)) is None:
        return []
    at = [topics.at("decisions", partition) for partition in range(there.partitions)]
    async with answering(connection), reader(connection) as consumer:
        earliest = await consumer.beginning_offsets(at)
    return [
        Finding(
            name,
            "differs",
            f"partition {place.partition} begins at offset {earliest[place]:,}: what came before"
            " was deleted",
            RESTORE,
        )
        for place in at
        if earliest[place]
    ]


async def expiring(connection: Connection, topics: Topics) -> list[str]:
    """The settings that let brokers delete decisions. TransientError if they cannot be read."""
    name = topics.name("decisions")
    settings = (await _settings(connection, [name]))[name]
    wanted = {setting: topics.names[name].settings[setting] for setting in DELETING}
    return [detail for detail, _ in _wrong_settings(name, wanted, settings)]


def compare(
    name: str, topics: Topics, metadata: Metadata, settings: Mapping[str, str]
) -> list[Finding]:
    """Compare one topic, as described by the brokers, with the requirements."""
    spec, found = topics.names[name], metadata.topics.get(name)
    if found is None:
        advice = "palimpsest topics create makes it"
        return [Finding(name, "missing", "the brokers show no topic of this name", advice)]
    wrong = [
        Finding(name, "differs", detail, advice)
        for detail, advice in (
            *_wrong_count(spec, topics.partitions, found),
            *_wrong_settings(name, spec.settings, settings),
            *_wrong_copies(name, found, metadata.brokers, settings),
        )
    ]
    return wrong or [Finding(name, "there", counted(found.partitions, "partition"))]


def _wrong_count(
    spec: TopicSpec, partitions: int, found: ExistingTopic
) -> Iterator[tuple[str, str]]:
    if wrong := wrong_count(spec, partitions, found):
        yield wrong


def _wrong_settings(
    name: str, all_wanted: Mapping[str, str], settings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for setting, wanted in all_wanted.items():
        is_now = settings[setting]
        if not _good_enough(setting, is_now, wanted):
            yield (
                f"{setting} is {is_now} instead of {wanted}",
                ALTER.format(name=name, setting=setting, wanted=wanted),
            )


def _wrong_copies(
    name: str, found: ExistingTopic, brokers: int, settings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Too few copies to lose a broker without losing records, or a minimum that no write meets."""
    if found.replication == 1 < brokers:
        yield f"1 copy, and there are {brokers} brokers", MORE_COPIES
    insync, wanted = int(settings[INSYNC]), _insync(found.replication)
    if not wanted <= insync <= found.replication:
        yield (
            f"{INSYNC} is {insync} instead of {wanted}",
            ALTER.format(name=name, setting=INSYNC, wanted=wanted),
        )


def _insync(replication: int) -> int:
    """Number of copies that must have a record before it is acknowledged: all but one."""
    return max(1, replication - 1)


def _good_enough(setting: str, is_now: str, wanted: str) -> bool:
    """Whether a setting is as wanted, or keeps records longer."""
    if setting == "retention.ms" and is_now != wanted:
        return int(is_now) == FOR_EVER or FOR_EVER < int(wanted) < int(is_now)
    return is_now == wanted


def _new(topics: Topics, name: str, replication: int) -> NewTopic:
    spec = topics.names[name]
    safe = {INSYNC: str(_insync(replication))}
    partitions = 1 if spec.one_partition else topics.partitions
    return NewTopic(name, partitions, replication, topic_configs=spec.settings | safe)


async def _make(connection: Connection, new: Sequence[NewTopic]) -> None:
    if not new:
        return
    async with admin(connection) as client:
        answer = await client.create_topics(list(new))
    for name, code, message in answer.topic_errors:
        if code not in {0, TopicAlreadyExistsError.errno}:
            raise TransientError(f"{name} was not created: {message or for_code(code).__name__}")


async def _wait_until_shown(connection: Connection, names: Sequence[str]) -> None:
    """Wait until a broker shows topics that the controller has created."""
    async with answering(connection):
        # Brokers do not notify.
        while len((await read_metadata(connection, names)).topics) < len(names):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _settings(connection: Connection, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The effective settings of each topic, by name."""
    wanted = {INSYNC: None} | {setting: None for spec in TOPICS for setting in spec.settings}
    asked = [ConfigResource(ConfigResourceType.TOPIC, name, wanted) for name in names]
    if not asked:
        return {}
    async with admin(connection) as client:
        answers = await client.describe_configs(asked)
    found = [resource for answer in answers for resource in answer.resources]
    for error, message, _type, name, _entries in found:
        if error != 0:
            raise TransientError(f"{name}: {message or for_code(error).__name__}")
    return {name: {entry[0]: entry[1] for entry in entries} for *_, name, entries in found}


@asynccontextmanager
async def admin(connection: Connection) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client. TransientError if no broker answers."""
    async with answering(connection):
        client = AIOKafkaAdminClient(**connection.arguments())
        try:
            await client.start()
            yield client
        finally:
            await client.close()
