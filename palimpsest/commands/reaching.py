"""What the commands of the cluster share: how it is reached, and that its extra is installed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from palimpsest.commands.invocation import Invocation
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.streams.cluster.connection import Connection
    from palimpsest.streams.cluster.topics import Topics

_log = logging.getLogger(__name__)
AGAIN_SECONDS = 0.5
TELL_SECONDS = 30.0


def reach(call: Invocation) -> Connection:
    """The cluster that a command is for; UsageError where none is named or the extra is missing."""
    connection = call.settings.kafka
    if connection is None:
        raise UsageError(
            "no Kafka cluster is named: --bootstrap HOST:PORT, PALIMPSEST_KAFKA_BOOTSTRAP, or"
            " bootstrap under [kafka] in palimpsest.toml"
        )
    if find_spec("aiokafka") is None:
        raise UsageError("a cluster needs more packages: pip install 'palimpsest-memory[cluster]'")
    return connection


async def topics_at_last(connection: Connection) -> Topics:
    """The topics of an installation as soon as a broker answers: it may start later than we do.

    Says so once in a while. StoreError where there are none, TransientError where brokers are there
    and do not let us in.
    """
    from palimpsest.streams.cluster.metadata import BrokersAwayError
    from palimpsest.streams.cluster.topics import read_topics

    now = asyncio.get_running_loop().time
    due = now()
    with _silent("aiokafka"):
        while True:
            try:
                return await read_topics(connection)
            except BrokersAwayError as error:
                if now() >= due:
                    _log.warning("%s; it is waited for", error)
                    due = now() + TELL_SECONDS
                await asyncio.sleep(AGAIN_SECONDS)


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """A span in which a library does not tell of each address that it cannot reach."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
