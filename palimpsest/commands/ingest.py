"""`ingest`: candidates from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.commands.drawing import summary_table
from palimpsest.commands.invocation import invocation
from palimpsest.commands.shell import FAILED
from palimpsest.interrupts import INTERRUPTED
from palimpsest.output import Output, Progress

if TYPE_CHECKING:
    from palimpsest.ingesting import IngestProgress, KeepGoing, Summary

app = typer.Typer()


class Format(Enum):
    """What files may be said to be."""

    CSV = "csv"
    JSON = "json"


Renames = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="THEIRS=OURS", help="Read their field as ours; repeatable."),
]


@app.command(epilog="Example: palimpsest ingest chat.jsonl.gz --source chat --map content=text")
def ingest(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…", help="JSONL, a JSON array, CSV, gzip of it, Parquet, or - ."
        ),
    ],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whence the rows are; else the file's name.")
    ] = None,
    renames: Renames = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="What the files are; else their names say, or beginnings."),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Read a file whose first hundred rows are all wrong."),
    ] = False,
    dedupe_first: Annotated[
        bool,
        typer.Option("--dedupe-first", help="Run the policy's batch rules before it starts."),
    ] = False,
) -> None:
    """Decide on every row of files and sum up; makes the store where there is none.

    A row is a CloudEvent or a JSON object with owner_id and text.
    The same file twice changes nothing. Rows that cannot be read are
    kept as dead letters; the exit status is then 1.
    """
    from palimpsest.ingesting import decide_on, look_at

    call = invocation(context)
    looked = look_at(  # before there is a store: a wrong file leaves none behind
        files,
        source=source,
        mapping=mapping_of(renames),
        form=form.value if form else None,
        keep_going=keep_going or _asking(call.output),
    )
    with call.store(create=True) as store, call.output.progress() as report:
        if dedupe_first:
            before = store.dedupe(judge=call.settings.judge, progress=report)
            call.output.remark(f"{len(before['joined']):,} joined by the batch rules before")
        summary = decide_on(store.desk, looked, _progress(report))
    sum_up(call.output, summary)


def _asking(output: Output) -> KeepGoing:
    """A person is asked about a file that is most likely the wrong one; no other goes on."""

    def asked(remark: str) -> bool:
        """Ask; a no ends the command."""
        output.problem(remark)
        typer.confirm("Read it all the same?", abort=True, err=True)
        return True

    return asked if output.asks else False


def sum_up(output: Output, summary: Summary) -> None:
    """Print a summary; the exit status says whether rows were invalid or it was interrupted."""
    # asdict copies a Counter wrongly: as one that counts its own items.
    document = asdict(summary) | {"decisions": dict(summary.decisions)}
    output.answer(document, lambda: summary_table(document))
    for remark in summary.remarks:
        output.remark(remark)
    if summary.interrupted:
        output.problem("interrupted; what is counted above is decided, the rest is not")
        raise typer.Exit(INTERRUPTED)
    if summary.invalid:
        output.remark(
            f"{summary.invalid} invalid: `palimpsest dead-letters list` names them all,"
            " `dead-letters show ID` shows the bytes"
        )
        raise typer.Exit(FAILED)


def mapping_of(renames: list[str] | None) -> dict[str, str]:
    """Their names of fields to ours."""
    mapping: dict[str, str] = {}
    for rename in renames or []:
        theirs, sign, ours = rename.partition("=")
        if not (theirs and sign and ours):
            raise typer.BadParameter(f"--map {rename}: write it as THEIRS=OURS")
        mapping[theirs] = ours
    return mapping


def _progress(report: Progress) -> Callable[[IngestProgress], None]:
    def told(progress: IngestProgress) -> None:
        """Show how many rows are decided on, by what became of them."""
        total = progress.bytes_total
        share = progress.bytes_read / total if total else None
        kinds = progress.decisions
        stored, pending = kinds.get("stored", 0), kinds.get("pending", 0)
        joined = sum(kinds.values()) - stored - pending
        rows = f"{progress.rows:,} rows: {stored:,} stored, {joined:,} joined, {pending:,} pending"
        report(rows, share)

    return told
