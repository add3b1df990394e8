"""Makes the topics that are missing, and says what is wrong with those that are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from contracts.errors import TransientError
from streams.cluster.connection import Connection
from streams.cluster.metadata import Found, answering, read_metadata
from streams.cluster.topics import (
    FOR_EVER,
    PARTITIONS,
    TOPICS,
    Topics,
    TopicSpec,
    count_of_decisions,
)

REPLICATION = 3
"""Copies of each partition, as far as there are brokers."""
OTHER_PARTITIONS = (
    "with another number owners would change their partition: export the log, make topics with"
    " another prefix and import it there"
)
ALTER = (
    "kafka-configs.sh --alter --entity-type topics --entity-name {name}"
    " --add-config {setting}={wanted}"
)

State = Literal["made", "there", "missing", "differs"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of a topic, or done; where something is wrong, what to do about it."""

    topic: str
    state: State
    detail: str
    advice: str | None = None

    @property
    def fine(self) -> bool:
        """Whether the topic is as it has to be."""
        return self.state in {"made", "there"}


async def create(
    connection: Connection, partitions: int = PARTITIONS, replication: int | None = None
) -> list[Finding]:
    """Make the topics that are missing; of the others say what they are, and change nothing.

    `replication` is 3, or as many as there are brokers. TransientError where none answers.
    """
    topics = Topics(connection.prefix, partitions)
    before = await read_metadata(connection, list(topics.names))
    copies = replication or min(REPLICATION, before.brokers)
    missing = [name for name in topics.names if name not in before.topics]
    await _make(connection, [_new(topics, name, copies) for name in missing])
    await _appeared(connection, missing)
    return [
        replace(finding, state="made") if finding.fine and finding.topic in missing else finding
        for finding in await check(connection, partitions)
    ]


async def check(connection: Connection, partitions: int | None = None) -> list[Finding]:
    """Compare the topics with what they have to be; at least one finding for each.

    Without a number, the others must have as many partitions as the decisions.
    """
    names = list(Topics(connection.prefix).names)
    found = await read_metadata(connection, names)
    wanted = partitions or count_of_decisions(connection, found) or PARTITIONS
    topics = Topics(connection.prefix, wanted)
    settings = await _settings(connection, list(found.topics))
    return [
        finding
        for name, spec in topics.names.items()
        for finding in _compare(name, spec, wanted, found.topics.get(name), settings.get(name, {}))
    ]


def _compare(
    name: str, spec: TopicSpec, partitions: int, found: Found | None, settings: Mapping[str, str]
) -> list[Finding]:
    if found is None:
        advice = "palimpsest topics create makes it"
        return [Finding(name, "missing", "not there", advice)]
    wrong = [
        Finding(name, "differs", detail, advice)
        for detail, advice in (
            *_wrong_count(1 if spec.one_partition else partitions, found),
            *_wrong_settings(name, spec, settings),
        )
    ]
    count = "1 partition" if found.partitions == 1 else f"{found.partitions} partitions"
    return wrong or [Finding(name, "there", count)]


def _wrong_count(wanted: int, found: Found) -> Iterator[tuple[str, str]]:
    if found.partitions != wanted:
        yield (
            f"{found.partitions} partitions instead of {wanted}",
            OTHER_PARTITIONS,
        )


def _wrong_settings(
    name: str, spec: TopicSpec, settings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for setting, wanted in spec.settings.items():
        is_now = settings[setting]
        if not _good_enough(setting, is_now, wanted):
            yield (
                f"{setting} is {is_now} instead of {wanted}",
                ALTER.format(name=name, setting=setting, wanted=wanted),
            )


def _good_enough(setting: str, is_now: str, wanted: str) -> bool:
    """Whether it is so; or records stay longer than they have to."""
    if setting == "retention.ms" and is_now != wanted:
        return int(is_now) == FOR_EVER or FOR_EVER < int(wanted) < int(is_now)
    return is_now == wanted


def _new(topics: Topics, name: str, replication: int) -> NewTopic:
    spec = topics.names[name]
    # Of three copies two must have what is acknowledged; so one broker may be away.
    safe = {"min.insync.replicas": str(max(1, replication - 1))}
    partitions = 1 if spec.one_partition else topics.partitions
    return NewTopic(name, partitions, replication, topic_configs=spec.settings | safe)


async def _make(connection: Connection, new: Sequence[NewTopic]) -> None:
    if not new:
        return
    async with admin(connection) as client:
        answer = await client.create_topics(list(new))
    for name, code, message in answer.topic_errors:
        if code not in {0, TopicAlreadyExistsError.errno}:
            raise TransientError(f"{name} was not made: {message or for_code(code).__name__}")


async def _appeared(connection: Connection, names: Sequence[str]) -> None:
    """Wait until a broker tells of topics that the controller has made."""
    async with answering(connection):
        # Brokers give no word of it.
        while len((await read_metadata(connection, names)).topics) < len(names):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _settings(connection: Connection, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings that count of each topic, by name."""
    wanted = {setting: None for spec in TOPICS for setting in spec.settings}
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
    """A client of the brokers' administration. TransientError where none answers."""
    async with answering(connection):
        client = AIOKafkaAdminClient(**connection.arguments())
        try:
            await client.start()
            yield client
        finally:
            await client.close()
