"""Reads metadata of topics from the brokers: ids, partitions, and the number of brokers.

It also finds out why brokers refuse us: aiokafka's clients only log the reason, and raise an error
that says no more than that there is no connection.

aiokafka 0.14 uses Metadata requests up to version 5, but topic ids came with version 10. Its own
way to describe a topic also creates a missing one, if brokers allow that; this module never does.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import BytesIO
from ssl import SSLCertVerificationError, SSLError
from typing import Any, TypeAlias
from uuid import UUID

from aiokafka.client import AIOKafkaClient
from aiokafka.conn import create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    NodeNotReadyError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
    for_code,
)
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection


@dataclass(frozen=True, slots=True)
class BrokerRefusal:
    """Why a broker refuses our settings; not `certain` if the broker may just be shutting down.

    `reason` names the settings to check, without any password.
    """

    reason: str
    certain: bool = True


async def refusal(connection: Connection) -> BrokerRefusal | None:
    """Connect to each address once, and collect why brokers refuse us; None if no broker says why.

    Waits as long as the brokers take; the caller must limit that.
    """
    arguments = connection.arguments()
    addresses = arguments.pop("bootstrap_servers")
    found = [
        reply for address in addresses if (reply := await _ask(connection, address, arguments))
    ]
    if not found:
        return None
    reasons = "; ".join(dict.fromkeys(reply.reason for reply in found))
    return BrokerRefusal(reasons, any(reply.certain for reply in found))


async def _ask(
    connection: Connection, address: str, arguments: dict[str, Any]
) -> BrokerRefusal | None:
    host, _, port = address.rpartition(":")
    try:
        connected = await create_conn(host, int(port), **arguments)
        try:
            await connected.send(MetadataRequest([]))  # fails if we are not admitted
        finally:
            connected.close()
    except (KafkaError, OSError) as error:
        return meaning(error, connection)
    return None


def meaning(error: BaseException | None, connection: Connection) -> BrokerRefusal | None:
    """What an error says about our settings; None if it says nothing."""
    protocol = connection.security_protocol
    match error:
        case KafkaConnectionError():
            return meaning(error.__cause__, connection)
        case SaslAuthenticationFailed(args=(answer, *_)):
            return BrokerRefusal(
                f"{answer}: check sasl_username ({connection.sasl_username}), sasl_password and"
                f" sasl_mechanism ({connection.sasl_mechanism})"
            )
        case UnsupportedSaslMechanismError():
            return BrokerRefusal(
                f"it does not support {connection.sasl_mechanism}: check sasl_mechanism"
            )
        case IllegalSaslStateError():
            return BrokerRefusal(f"it does not use SASL: check security_protocol ({protocol})")
        case SSLCertVerificationError(verify_message=answer):
            return BrokerRefusal(
                f"its TLS certificate was rejected ({answer}): check ssl_cafile, bootstrap"
            )
        case SSLError(reason=str(answer)) if "ALERT" in answer:
            return BrokerRefusal(f"it ended TLS ({answer}): check ssl_certfile and ssl_keyfile")
        case SSLError() | IncompleteReadError() | ConnectionResetError() | BrokenPipeError():
            own = ", and ssl_certfile if it wants one" if "SSL" in protocol else ""
            found_wrong = f"it broke off the connection: check security_protocol ({protocol}){own}"
            return BrokerRefusal(found_wrong, certain=False)
        case _:
            return None


PATIENCE_SECONDS = 10.0
"""Maximum time for brokers to answer."""
UNKNOWN_TOPIC = 3
NO_TOPIC_PERMISSION = 29
NO_ID = UUID(int=0)


class BrokersAwayError(TransientError):
    """No broker answers: none has started yet, or all have stopped."""


class NotPermittedError(TransientError):
    """The brokers' access control denies us something; the message says what to grant."""

    def __init__(self, *missing: str) -> None:
        super().__init__(
            f"the brokers do not permit {', '.join(missing)}: grant it (docs/cluster.md,"
            " Permissions), and start again"
        )


@dataclass(frozen=True, slots=True)
class ExistingTopic:
    """An existing topic; `topic_id` changes when it is deleted and recreated.

    `operations` are our permissions, with a bit for each of Kafka's codes (access.py).
    """

    topic_id: str
    partitions: int
    replication: int
    operations: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """The existing topics among those asked for, by name; and the number of brokers."""

    topics: dict[str, ExistingTopic]
    brokers: int


async def read_metadata(connection: Connection, names: Sequence[str]) -> Metadata:
    """Ask a broker about topics. Raises TransientError if none answers within ten seconds.

    That is a BrokersAwayError if waiting may help; otherwise it names the settings to check. Raises
    NotPermittedError or StoreError if the broker cannot describe a topic; a missing topic is left
    out.
    """
    async with answering(connection):
        client = AIOKafkaClient(**connection.arguments())
        try:
            try:
                await client.bootstrap()
            except KafkaConnectionError:
                found = await refusal(connection)
                if found is None:
                    raise
                kind = TransientError if found.certain else BrokersAwayError
                raise kind(
                    f"no Kafka broker lets us in at {connection.bootstrap}: {found.reason}"
                ) from None
            answer = await client.send(client.get_random_node(), _Ask(names))
        finally:
            await client.close()
    topics = {topic[1]: _found(topic) for topic in answer.topics if topic[0] != UNKNOWN_TOPIC}
    return Metadata(topics, brokers=len(answer.brokers))


def retry_without_brokers(client: AIOKafkaClient) -> None:
    """Make a client retry the lookup of a coordinator while it knows no broker.

    A cluster whose brokers are all fenced lists none. A client that starts then would fail with an
    assertion error of aiokafka, and the worker with it.
    """
    look_up = client.coordinator_lookup

    async def coordinator_lookup(kind: int, key: str) -> int:
        if client.get_random_node() is None:
            raise NodeNotReadyError("the cluster lists no brokers")
        found: int = await look_up(kind, key)
        return found

    vars(client)["coordinator_lookup"] = coordinator_lookup


@asynccontextmanager
async def answering(connection: Connection) -> AsyncIterator[None]:
    """Raise BrokersAwayError if brokers do not answer the block's requests within ten seconds."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield
    except (KafkaError, TimeoutError) as error:
        raise BrokersAwayError(
            f"no Kafka broker answers at {connection.bootstrap}: {type(error).__name__}"
        ) from error


@contextmanager
def as_transient(advice: str) -> Iterator[None]:
    """Raise an error of the brokers as TransientError, with what to do about it."""
    try:
        yield
    except KafkaError as error:
        raise TransientError(
            f"the brokers did not accept it ({type(error).__name__}): {advice}"
        ) from error


_TopicAnswer: TypeAlias = tuple[
    int, str, UUID, bool, list[tuple[int, int, int, int, list[int]]], int
]


def _found(topic: _TopicAnswer) -> ExistingTopic:
    error, name, topic_id, _internal, partitions, operations, *_ = topic
    if error == NO_TOPIC_PERMISSION:
        raise NotPermittedError(f"Describe on the topic {name}")
    if error != 0:
        raise StoreError(f"the brokers do not show the topic {name}: {for_code(error).__name__}")
    copies = min(len(found[4]) for found in partitions)
    return ExistingTopic(str(topic_id), len(partitions), copies, operations)


class _Uuid(AbstractType[UUID]):
    @classmethod
    def encode(cls, value: UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> UUID:
        return UUID(bytes=data.read(16))


_BROKER = Schema(
    ("node_id", Int32),
    ("host", CompactString()),
    ("port", Int32),
    ("rack", CompactString()),
    ("tags", TaggedFields),
)
_PARTITION = Schema(
    ("error_code", Int16),
    ("partition", Int32),
    ("leader", Int32),
    ("leader_epoch", Int32),
    ("replicas", CompactArray(Int32)),
    ("isr", CompactArray(Int32)),
    ("offline_replicas", CompactArray(Int32)),
    ("tags", TaggedFields),
)
_TOPIC = Schema(
    ("error_code", Int16),
    ("name", CompactString()),
    ("topic_id", _Uuid),
    ("is_internal", Boolean),
    ("partitions", CompactArray(_PARTITION)),
    ("authorized_operations", Int32),
    ("tags", TaggedFields),
)
_WANTED = Schema(("topic_id", _Uuid), ("name", CompactString()), ("tags", TaggedFields))


class _Answer(Response):
    """Metadata response, version 12 (Kafka 3.1 and newer)."""

    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(_BROKER)),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        ("topics", CompactArray(_TOPIC)),
        ("tags", TaggedFields),
    )


class _MetadataRequest(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 12
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema(
        ("topics", CompactArray(_WANTED)),
        ("allow_auto_topic_creation", Boolean),
        ("include_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _Ask(Request[_MetadataRequest]):
    API_KEY = 3

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def build(self, request_struct_class: type[_MetadataRequest]) -> _MetadataRequest:
        wanted: list[tuple[UUID, str, dict[int, bytes]]] = [
            (NO_ID, name, {}) for name in self._names
        ]
        return request_struct_class(wanted, False, True, {})
