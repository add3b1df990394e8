"""Existing stores: `import` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from palimpsest.cli import rendering
from palimpsest.cli.commands.ingestion import Renames, confirmation, parse_renames, print_summary
from palimpsest.cli.invocation import DryRun, Invocation, invocation
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.process.output import Output

if TYPE_CHECKING:
    from palimpsest.sources import MappedSource
    from palimpsest.sources.contract import Trust

app = typer.Typer()

Texts = Literal["original", "face"]

SourcePath = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="A file, or the folder of a database.")
]
Table = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table or collection, if there are several.")
]
Query = Annotated[
    str | None, typer.Option(metavar="SQL", help="For a SQLite file: the rows of this query.")
]
History = Annotated[
    Path | None, typer.Option(metavar="FILE", help="mem0's history, if it is elsewhere.")
]
Trusted = Annotated[
    bool,
    typer.Option("--trust", help="Read data that could run a program (Qdrant's pickled points)."),
]


@app.command("import", epilog="Example: palimpsest import export.jsonl --owner ada --dry-run")
def import_source(
    context: typer.Context,
    path: SourcePath,
    table: Table = None,
    query: Query = None,
    history: History = None,
    renames: Renames = None,
    owner: Annotated[
        str | None, typer.Option(metavar="OWNER", help="The owner of rows that name none.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="The source's name from now on.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model-of-vectors", metavar="MODEL", help="The model of the source's vectors."
        ),
    ] = None,
    trust: Trusted = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the guessed mapping.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Import an existing store: files, SQLite, LanceDB, Qdrant, Chroma, mem0; it is only read.

    The command guesses which fields are ours, shows the mapping, and asks for
    confirmation. After an interruption run it again: known rows change nothing.
    """
    from palimpsest.jobs.import_source import bring_in, foresee_import, look_at, spool_rows
    from palimpsest.sources import SourcePlace

    call = invocation(context)
    mapped = look_at(
        SourcePlace(path, table, query, history, trust or _asking_for_trust(call.output)),
        source=source,
        owner=owner,
        renames=parse_renames(renames),
    )
    if not dry_run:
        _confirm(call.output, mapped, yes=yes)
    with call.output.progress() as report, spool_rows(mapped, _absent(call), report) as spool:
        if dry_run:
            document = foresee_import(mapped, spool)
        else:
            with call.store(create=True) as store:
                document = bring_in(store.writer, mapped, spool, model=model, progress=report)
    if dry_run:
        call.output.answer(document, lambda: rendering.foreseen_table(document))
        return
    if document["vectors"]["there"]:
        call.output.remark(rendering.vectors_sentence(document["vectors"]))
    print_summary(call.output, document)


@app.command(epilog="Example: palimpsest export export.jsonl --to cleaned.jsonl --dry-run")
def export(
    context: typer.Context,
    path: SourcePath,
    to: Annotated[Path, typer.Option(metavar="NEW", help="The copy; must not exist yet.")],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which import, if there are several.")
    ] = None,
    texts: Annotated[
        Texts,
        typer.Option(
            metavar="WHICH",
            help="`original`: rows keep their texts, and sources of composed texts stay; `face`:"
            " one row per memory, with the memory's text.",
        ),
    ] = "original",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Keep this row (its id in the source); repeatable."),
    ] = None,
    max_changes: Annotated[
        int | None,
        typer.Option(
            "--max-changes",
            min=0,
            metavar="N",
            help="The largest number of changes in this run; 200 unless a person allows all.",
        ),
    ] = None,
    trust: Trusted = False,
    dry_run: DryRun = False,
) -> None:
    """Copy an imported store without its duplicates; the original is only read.

    The copy has the same format. It leaves out forgotten rows, and rows that
    repeat another row, verbatim or by a join; the report says how to bring
    each back. The exit status is 1 if --max-changes left out some changes.
    """
    from palimpsest.jobs.export_source import MOST_CHANGES

    call = invocation(context)
    most = MOST_CHANGES if max_changes is None else max_changes
    asks = call.output.asks and max_changes is None and not dry_run

    def write_copy_of(most: int, *, dry_run: bool) -> dict[str, Any]:
        """Make at most `most` changes, or in a dry run only count them."""
        with call.store() as store, call.output.progress() as report:
            return store.export_source(
                path,
                to,
                source=source,
                texts=texts,
                keep=keep or (),
                max_changes=most,
                trust=trusted,
                dry_run=dry_run,
                progress=report,
            )

    trusted = trust or _asking_for_trust(call.output)
    if asks and (found := write_copy_of(most, dry_run=True)["changes"]) > most:
        question = (
            f"The copy needs {counted(found, 'change')}, and a run makes {most:,}. Make them all?"
        )
        most = found if typer.confirm(question, err=True) else most
    document = write_copy_of(most, dry_run=dry_run)
    call.output.answer(document, lambda: rendering.export_report(document))
    if document["left"] and not dry_run:
        call.output.remark(
            f"the copy is not clean yet: --max-changes {most} left out"
            f" {document['left']:,} of {document['changes']:,} changes; export to another place"
            " with a larger number"
        )
        raise typer.Exit(FAILED)


def _confirm(output: Output, mapped: MappedSource, *, yes: bool) -> None:
    """Show the mapping and ask a person to confirm it; a script gives `--yes`."""
    if not output.as_json:
        output.show(rendering.mapping_table(mapped.shown()))
    if yes:
        return
    if not output.asks:
        raise UsageError(
            "without a terminal the mapping cannot be confirmed: check it with --dry-run, change it"
            " with --map, then give --yes"
        )
    typer.confirm("Import with this mapping?", abort=True, err=True)


def _asking_for_trust(output: Output) -> Trust:
    return confirmation(output, output.remark, "Is it yours, and do you trust it?")


def _absent(call: Invocation) -> float | None:
    """The confidence that rows without one get by the policy in force, or that of a new store."""
    from palimpsest.streams.log.database import NoStoreError

    try:
        with call.store() as store:
            return store.reader.policy_in_force().absent.confidence
    except NoStoreError:
        return call.settings.policy_of_new_store().absent.confidence
