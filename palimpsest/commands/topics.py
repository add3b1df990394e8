"""`topics`: made as they have to be, and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from palimpsest.commands.drawing import shown
from palimpsest.commands.invocation import Invocation, invocation
from palimpsest.commands.reaching import reach
from palimpsest.commands.shell import FAILED

if TYPE_CHECKING:
    from palimpsest.streams.cluster.setup import Finding

app = typer.Typer(
    no_args_is_help=True,
    help="The topics of a Kafka cluster: made, and checked.",
    epilog="Example: palimpsest topics create --bootstrap 127.0.0.1:9092",
)


@app.command(epilog="Example: palimpsest topics create --bootstrap 127.0.0.1:9092 --partitions 24")
def create(
    context: typer.Context,
    partitions: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of each, for ever; else as those there, or 12."),
    ] = None,
    replication: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Copies; else 3, or as many as there are brokers."),
    ] = None,
) -> None:
    """Make the topics that are missing; change none that is there, say what differs."""
    call = invocation(context)
    connection = reach(call)
    from palimpsest.streams.cluster import setup

    _tell(call, asyncio.run(setup.create(connection, partitions, replication)))


@app.command(epilog="Example: palimpsest topics check --bootstrap 127.0.0.1:9092")
def check(
    context: typer.Context,
    partitions: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Expected; else as many as the decisions have."),
    ] = None,
) -> None:
    """Compare the topics with what they have to be; exit status 1 if one differs."""
    call = invocation(context)
    connection = reach(call)
    from palimpsest.streams.cluster import setup

    _tell(call, asyncio.run(setup.check(connection, partitions)))


def _tell(call: Invocation, findings: Sequence[Finding]) -> None:
    fine = all(finding.fine for finding in findings)
    document = {"fine": fine, "topics": [asdict(finding) for finding in findings]}
    call.output.answer(document, lambda: Group(*map(_line, findings)))
    if not fine:
        raise typer.Exit(FAILED)


def _line(finding: Finding) -> Text:
    mark = ("✓", "green") if finding.fine else ("✗", "red")
    advice = f"\n    {finding.advice}" if finding.advice else ""
    told = f" {finding.topic}: {finding.state}, {finding.detail}"
    return Text.assemble(mark, shown(told), advice)
