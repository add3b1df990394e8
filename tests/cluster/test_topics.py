"""Topics are made as they have to be, once; what differs is found and never changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from infra.broker import free_port
from palimpsest.contracts.asyncapi import asyncapi
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import ExistingTopic, Metadata, read_metadata
from palimpsest.streams.cluster.setup import Finding, _settings, check, compare, create, expiring
from palimpsest.streams.cluster.topics import Kind, Topics, read_topics, topic_id
from tests.reliability.processes import until

Ask = Callable[[AIOKafkaAdminClient], Awaitable[object]]


def ask_admin(connection: Connection, ask: Ask) -> None:
    async def asked() -> None:
        admin = AIOKafkaAdminClient(**connection.arguments())
        await admin.start()
        try:
            await ask(admin)
        finally:
            await admin.close()

    asyncio.run(asked())


def make(connection: Connection, *new: NewTopic) -> None:
    ask_admin(connection, lambda admin: admin.create_topics(list(new)))
    names = {one.name.removeprefix(connection.prefix) for one in new}
    until(lambda: names <= counts(connection).keys())


def alter(connection: Connection, topic: str, **settings: str) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, named)
    ask_admin(connection, lambda admin: admin.alter_configs([resource]))
    until(lambda: named.items() <= asyncio.run(_settings(connection, [topic]))[topic].items())


def delete(connection: Connection, topic: str) -> None:
    ask_admin(connection, lambda admin: admin.delete_topics([topic]))
    until(lambda: topic.removeprefix(connection.prefix) not in counts(connection))


def counts(connection: Connection) -> dict[str, int]:
    names = list(Topics(connection.prefix).names)
    found = asyncio.run(read_metadata(connection, names)).topics
    return {name.removeprefix(connection.prefix): one.partitions for name, one in found.items()}


def wrong(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.topic.rpartition("memory.")[2], one.detail) for one in found if not one.fine]


def test_all_are_made_with_one_count_of_partitions_but_the_policies(
    connection: Connection,
) -> None:
    found = asyncio.run(create(connection))
    assert {finding.state for finding in found} == {"made"}
    assert counts(connection) == {
        "memory.candidates": 12,
        "memory.commands": 12,
        "memory.decisions": 12,
        "memory.answers": 12,
        "memory.dead-letters": 12,
        "memory.verifications": 12,
        "memory.policies": 1,
    }


def test_making_them_again_changes_nothing(connection: Connection, topics: Topics) -> None:
    before = asyncio.run(read_metadata(connection, list(topics.names)))
    again = asyncio.run(create(connection, topics.partitions))
    assert {finding.state for finding in again} == {"there"}
    assert asyncio.run(read_metadata(connection, list(topics.names))) == before


def test_another_number_of_partitions_is_reported_and_not_made(
    connection: Connection, topics: Topics
) -> None:
    again = asyncio.run(create(connection, 8))
    assert len(wrong(again)) == 6
    assert set(wrong(again)) >= {("decisions", "4 partitions instead of 8")}
    assert counts(connection)["memory.decisions"] == 4


def test_one_that_is_missing_is_made_beside_the_others(
    connection: Connection, topics: Topics
) -> None:
    delete(connection, topics.name("answers"))
    told = "the brokers show no topic of this name"
    assert wrong(asyncio.run(check(connection))) == [("answers", told)]
    again = asyncio.run(create(connection))
    assert [one.topic for one in again if one.state == "made"] == [topics.name("answers")]
    assert counts(connection)["memory.answers"] == topics.partitions
    assert wrong(asyncio.run(check(connection))) == []


def test_without_a_number_all_are_compared_with_the_decisions(
    connection: Connection, topics: Topics
) -> None:
    name = topics.name("candidates")
    delete(connection, name)
    make(connection, NewTopic(name, 6, 1, topic_configs=topics.names[name].settings))
    assert wrong(asyncio.run(check(connection))) == [("candidates", "6 partitions instead of 4")]


def test_beside_topics_of_others_it_makes_as_many_as_these_have(connection: Connection) -> None:
    name = Topics(connection.prefix).name("commands")
    make(
        connection,
        NewTopic(name, 3, 1, topic_configs=Topics(connection.prefix).names[name].settings),
    )
    assert wrong(asyncio.run(create(connection))) == []
    assert counts(connection)["memory.decisions"] == 3


@pytest.mark.parametrize(
    ("kind", "detail", "advice"),
    [
        ("decisions", "3 partitions instead of 4", "import it there"),
        ("policies", "3 partitions instead of 1", "nothing is lost"),
    ],
)
def test_only_a_topic_of_owners_has_to_be_moved_for_its_partitions(
    kind: Kind, detail: str, advice: str
) -> None:
    topics = Topics(partitions=4)
    name = topics.name(kind)
    settings = topics.names[name].settings | {"min.insync.replicas": "1"}
    [found] = compare(
        name, topics, Metadata({name: ExistingTopic("an id", 3, 1, operations=0)}, 1), settings
    )
    assert found.detail == detail
    assert advice in (found.advice or "")


def copies(replication: int, brokers: int, insync: int) -> list[str]:
    """What is wrong with a topic of this number of copies."""
    topics = Topics(partitions=4)
    name, settings = "memory.decisions", topics.names["memory.decisions"].settings
    metadata = Metadata({name: ExistingTopic("an id", 4, replication, operations=0)}, brokers)
    settings = settings | {"min.insync.replicas": str(insync)}
    return [one.detail for one in compare(name, topics, metadata, settings) if not one.fine]


def test_one_copy_is_reported_where_there_are_more_brokers() -> None:
    assert copies(1, 3, insync=1) == ["1 copy, and there are 3 brokers"]
    assert copies(1, 1, insync=1) == copies(2, 3, insync=1) == copies(3, 3, insync=2) == []


def test_what_would_be_on_one_broker_alone_or_could_not_be_written_is_reported() -> None:
    assert copies(3, 3, insync=1) == ["min.insync.replicas is 1 instead of 2"]
    assert copies(3, 3, insync=3) == copies(2, 2, insync=2) == []
    assert copies(2, 2, insync=3) == ["min.insync.replicas is 3 instead of 1"]


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("decisions", {"retention_ms": "604800000"}, "retention.ms is 604800000 instead of -1"),
        ("decisions", {"retention_bytes": "5000000"}, "retention.bytes is 5000000 instead of -1"),
        (
            "decisions",
            {"cleanup_policy": "compact", "retention_ms": "-1"},
            "cleanup.policy is compact instead of delete",
        ),
        (
            "candidates",
            {"retention_ms": "3600000", "message_timestamp_type": "LogAppendTime"},
            "retention.ms is 3600000 instead of 604800000",
        ),
        (
            "candidates",
            {"retention_ms": "604800000", "message_timestamp_type": "CreateTime"},
            "message.timestamp.type is CreateTime instead of LogAppendTime",
        ),
        ("policies", {"cleanup_policy": "delete"}, "cleanup.policy is delete instead of compact"),
    ],
)
def test_a_setting_that_loses_records_is_found_with_advice(
    connection: Connection, topics: Topics, kind: str, settings: dict[str, str], told: str
) -> None:
    name = next(name for name, spec in topics.names.items() if spec.kind == kind)
    alter(connection, name, **settings)
    found = [one for one in asyncio.run(check(connection)) if not one.fine]
    assert (kind, told) in wrong(found)
    setting, *_, wanted = told.split()
    assert any(f"--add-config {setting}={wanted}" in (one.advice or "") for one in found)


def test_only_settings_that_delete_decisions_are_expiring(
    connection: Connection, topics: Topics
) -> None:
    """Smaller records are a fault that the check reports, but they delete nothing."""
    name = topics.name("decisions")
    alter(connection, name, max_message_bytes="1048576", retention_ms="-1")
    assert len(wrong(asyncio.run(check(connection)))) == 1
    assert asyncio.run(expiring(connection, topics)) == []
    alter(connection, name, retention_bytes="5000000", cleanup_policy="compact", retention_ms="-1")
    assert asyncio.run(expiring(connection, topics)) == [
        "cleanup.policy is compact instead of delete",
        "retention.bytes is 5000000 instead of -1",
    ]


@pytest.mark.parametrize("retention", ["-1", "31536000000"])
def test_what_is_kept_longer_than_it_has_to_be_is_fine(
    connection: Connection, topics: Topics, retention: str
) -> None:
    name = topics.name("candidates")
    alter(connection, name, retention_ms=retention, message_timestamp_type="LogAppendTime")
    assert wrong(asyncio.run(check(connection))) == []


def test_looking_makes_no_topic(connection: Connection) -> None:
    assert {one.state for one in asyncio.run(check(connection))} == {"missing"}
    assert counts(connection) == {}


def test_a_topic_made_again_has_another_id(connection: Connection, topics: Topics) -> None:
    name = topics.name("decisions")
    first = asyncio.run(topic_id(connection, name))
    assert asyncio.run(topic_id(connection, name)) == first
    delete(connection, name)
    asyncio.run(create(connection, topics.partitions))
    assert asyncio.run(topic_id(connection, name)) != first


def test_the_count_is_read_from_the_brokers(connection: Connection, topics: Topics) -> None:
    assert asyncio.run(read_topics(connection)) == topics


def test_topics_that_are_not_there_are_reported(connection: Connection) -> None:
    with pytest.raises(StoreError, match="palimpsest topics create"):
        asyncio.run(read_topics(connection))
    with pytest.raises(StoreError, match="palimpsest topics create"):
        asyncio.run(topic_id(connection, "nowhere"))


def test_no_broker_is_reported() -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with pytest.raises(TransientError, match=f"no Kafka broker answers at {nobody}"):
        asyncio.run(check(Connection(bootstrap=nobody)))


def test_the_document_for_producers_has_these_topics() -> None:
    specs = Topics().names
    channels = asyncapi([])["channels"]
    assert {channel["address"] for channel in channels.values()} <= set(specs)
    told = channels["decisions"]["bindings"]["kafka"]["topicConfiguration"]
    settings = specs["memory.decisions"].settings
    assert settings["cleanup.policy"] == ",".join(told["cleanup.policy"])
    assert settings["retention.ms"] == str(told["retention.ms"])
