"""What the commands of the cluster share: how it is reached, and that its extra is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from contracts.errors import UsageError
from palimpsest.commands.invocation import Invocation

if TYPE_CHECKING:
    from streams.cluster.connection import Connection

Bootstrap = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="The Kafka cluster; else PALIMPSEST_KAFKA_BOOTSTRAP, or settings."
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="P", help="Stands before all names of this installation."),
]


def reach(call: Invocation, bootstrap: str | None, prefix: str | None) -> Connection:
    """The cluster that a command is for; UsageError where none is named or the extra is missing."""
    from palimpsest.settings import read_settings

    said = {"bootstrap": bootstrap, "prefix": prefix}
    kafka = {name: value for name, value in said.items() if value is not None}
    connection = read_settings(store=call.store_option, kafka=kafka or None).kafka
    if connection is None:
        raise UsageError(
            "no Kafka cluster is named: --bootstrap HOST:PORT, PALIMPSEST_KAFKA_BOOTSTRAP, or"
            " bootstrap under [kafka] in palimpsest.toml"
        )
    if find_spec("aiokafka") is None:
        raise UsageError("a cluster needs more packages: pip install 'palimpsest[cluster]'")
    return connection
