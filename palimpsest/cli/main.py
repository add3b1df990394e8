"""The command line: `palimpsest [--store DIR] [--json] COMMAND` (docs/design.md, Command line)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palimpsest.cli.invocation import Invocation
from palimpsest.cli.shell import Shell
from palimpsest.process.gc_thresholds import raise_gc_thresholds
from palimpsest.process.import_shims import lighten_lancedb
from palimpsest.process.logs import silence_brokers
from palimpsest.process.output import Output, outlast_readers
from palimpsest.process.signals import end_on_signals, interrupt_on_signals

app = typer.Typer(
    name="palimpsest",
    cls=Shell,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Example: palimpsest ingest notes.jsonl",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        said = f"palimpsest {version('palimpsest-memory')}"
        Output(as_json=False).answer(said, lambda: said)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The store's folder; else PALIMPSEST_STORE, palimpsest.toml, or .palimpsest.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON document, or one a line; may follow the command."
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="The model of a new store, such as multilingual-e5-small; else the policy's.",
        ),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A Kafka cluster that decides; else PALIMPSEST_KAFKA_BOOTSTRAP, or settings.",
        ),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(metavar="P", help="The prefix of this installation's names in the cluster."),
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memories of AI agents without duplicates; every merge can be taken back.

    Exit status: 0 done; 1 something does not hold; 2 wrong usage;
    3 refused; 4 no readable store; 70 a bug; 130 interrupted.
    """
    interrupt_on_signals(context.invoked_subcommand)
    context.obj = Invocation(store, Output(as_json=as_json), bootstrap, prefix, model)


def main() -> None:
    """Run the command line and end the process with its exit status.

    SIGTERM ends it as an interrupt does (process/signals.py).
    """
    end_on_signals()
    outlast_readers()
    raise_gc_thresholds()
    lighten_lancedb()
    silence_brokers()
    app()
