"""Existing stores: `import` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.commands import rendering
from palimpsest.commands.ingestion import Renames, parse_renames, print_summary
from palimpsest.commands.invocation import DryRun, Invocation, invocation
from palimpsest.contracts.errors import UsageError
from palimpsest.output import Output

if TYPE_CHECKING:
    from palimpsest.importing import Brought
    from palimpsest.sources.contract import Trust

app = typer.Typer()

SourcePath = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="A file, or the folder of a database.")
]
Table = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table or collection, where there are more.")
]
Query = Annotated[
    str | None, typer.Option(metavar="SQL", help="Of a SQLite file: the rows that this gives.")
]
History = Annotated[
    Path | None, typer.Option(metavar="FILE", help="mem0's history, where it lies elsewhere.")
]
Trusted = Annotated[
    bool,
    typer.Option("--trust", help="Read what could run a program (Qdrant's pickled points)."),
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
        str | None, typer.Option(metavar="OWNER", help="Whose the rows are that name nobody.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the source is called from now on.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model-of-vectors", metavar="MODEL", help="What made the vectors; else they are made."
        ),
    ] = None,
    trust: Trusted = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Import with the mapping as it is guessed.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Bring an existing store in: files, SQLite, LanceDB, Qdrant, Chroma, mem0; it stays as it is.

    Which of its fields are ours is guessed, shown, and confirmed. Run it
    again after an interruption: what is known already changes nothing.
    """
    from palimpsest.importing import bring_in, foreseen, look_at, spooled
    from palimpsest.sources import Place

    call = invocation(context)
    brought = look_at(
        Place(path, table, query, history, trust or _trust(call.output)),
        source=source,
        owner=owner,
        renames=parse_renames(renames),
    )
    if dry_run:
        with call.output.progress() as report, spooled(brought, _absent(call), report) as spool:
            document = foreseen(brought, spool)
        call.output.answer(document, lambda: rendering.foreseen_table(document))
        return
    _confirm(call.output, brought, yes=yes)
    with call.store(create=True) as store, call.output.progress() as report:
        absent = store.gateway.policy_in_force().absent.confidence
        with spooled(brought, absent, report) as spool:
            document = bring_in(store.gateway, brought, spool, model=model, progress=report)
    if document["vectors"]["there"]:
        call.output.remark(rendering.vectors_sentence(document["vectors"]))
    print_summary(call.output, document)


@app.command(epilog="Example: palimpsest export export.jsonl --to cleaned.jsonl --dry-run")
def export(
    context: typer.Context,
    path: SourcePath,
    to: Annotated[Path, typer.Option(metavar="NEW", help="The copy, where nothing may be yet.")],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of several imports from there, this one.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A row by its id there, which stays; repeatable."),
    ] = None,
    max_changes: Annotated[
        int, typer.Option("--max-changes", min=0, metavar="N", help="The most changes of this run.")
    ] = 200,
    trust: Trusted = False,
    dry_run: DryRun = False,
) -> None:
    """Copy an imported store without what is there twice; the original stays as it is.

    The copy has the same form. A row goes that another row of its
    memory speaks for, or that was forgotten; the report says how
    each comes back.
    """
    call = invocation(context)
    with call.store() as store, call.output.progress() as report:
        document = store.export_source(
            path,
            to,
            source=source,
            keep=keep or (),
            max_changes=max_changes,
            trust=trust or _trust(call.output),
            dry_run=dry_run,
            progress=report,
        )
    call.output.answer(document, lambda: rendering.export_report(document))


def _confirm(output: Output, brought: Brought, *, yes: bool) -> None:
    """Show the mapping; a person confirms it, a script says `--yes`."""
    if not output.as_json:
        output.show(rendering.mapping_table(brought.shown()))
    if yes:
        return
    if not output.asks:
        raise UsageError(
            "nobody is there to confirm the mapping: see it with --dry-run, change it with --map,"
            " and then give --yes"
        )
    typer.confirm("Import with this mapping?", abort=True, err=True)


def _trust(output: Output) -> Trust:
    """Ask a person whether a source is trusted; without one it is not."""

    def confirm(why: str) -> bool:
        """Ask; `no` ends the command."""
        output.remark(why)
        typer.confirm("Is it yours, and do you trust it?", abort=True, err=True)
        return True

    return confirm if output.asks else False


def _absent(call: Invocation) -> float | None:
    """The confidence of rows without one: by the policy in force, or that of a new store."""
    from palimpsest.contracts.policy import Policy
    from palimpsest.streams.policies import load_policy

    if call.settings.store.is_dir():
        with call.store() as store:
            return store.gateway.policy_in_force().absent.confidence
    said = call.settings.opening().get("policy", "standard")
    policy = said if isinstance(said, Policy) else load_policy(str(said))
    return policy.absent.confidence
