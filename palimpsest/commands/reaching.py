"""What the commands of the cluster share: how it is reached, and that its extra is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from contracts.errors import UsageError
from palimpsest.commands.invocation import Invocation

if TYPE_CHECKING:
    from streams.cluster.connection import Connection


def reach(call: Invocation) -> Connection:
    """The cluster that a command is for; UsageError where none is named or the extra is missing."""
    connection = call.settings.kafka
    if connection is None:
        raise UsageError(
            "no Kafka cluster is named: --bootstrap HOST:PORT, PALIMPSEST_KAFKA_BOOTSTRAP, or"
            " bootstrap under [kafka] in palimpsest.toml"
        )
    if find_spec("aiokafka") is None:
        raise UsageError("a cluster needs more packages: pip install 'palimpsest[cluster]'")
    return connection
