"""`dead-letters`: inputs that could not be read, with their original bytes."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import typer

from palimpsest.cli import rendering
from palimpsest.cli.commands.ingestion import Renames, parse_renames, print_summary
from palimpsest.cli.invocation import invocation

app = typer.Typer(
    no_args_is_help=True,
    help="Unreadable input, with its original bytes.",
    epilog="Example: palimpsest dead-letters list",
)

State = Literal["open", "retried"]


@app.command("list", epilog="Example: palimpsest dead-letters list --state open")
def list_dead_letters(
    context: typer.Context,
    state: Annotated[State | None, typer.Option(help="Only these.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most dead letters on the page.")
    ] = 100,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="The page after this dead letter.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, on one page.")] = False,
) -> None:
    """List dead letters, the oldest first, each with its reason, a page at a time."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    with call.store() as store:
        first = after and full_id(store.reader, after, "letter")
        found = store.dead_letters(state, limit=None if everything else limit + 1, after=first)
    page = found if everything else found[:limit]
    call.output.answer(page, lambda: rendering.dead_letters(page))
    if len(found) > len(page):
        call.output.remark(f"there are more: --after {page[-1]['id']}, or --all")


@app.command(epilog="Example: palimpsest dead-letters show 8c1f… --raw > row.bin")
def show(
    context: typer.Context,
    letter: Annotated[str, typer.Argument(metavar="ID", help="As `list` prints it.")],
    raw: Annotated[bool, typer.Option("--raw", help="Only the original bytes.")] = False,
) -> None:
    """Show a dead letter with its bytes; with --json in base64, and as text if it is text."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    with call.store() as store:
        about, original = store.dead_letter(full_id(store.reader, letter, "letter"))
    if raw:
        typer.get_binary_stream("stdout").write(original)
        return
    from palimpsest.jobs.log_files import text_of

    document = about | {"base64": base64.b64encode(original).decode(), "text": text_of(original)}
    call.output.answer(document, lambda: rendering.dead_letter(about, original))


@app.command(epilog="Example: palimpsest dead-letters retry --map content=text")
def retry(
    context: typer.Context,
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="ID…", help="Defaults to all open ones.")
    ] = None,
    renames: Renames = None,
) -> None:
    """Read dead letters again after the cause was fixed; prints a summary as `ingest` does."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    mapping = parse_renames(renames)
    with call.store() as store:
        wanted = [full_id(store.reader, one, "letter") for one in chosen or ()]
        summary: Any = store.retry_dead_letters(wanted or None, mapping=mapping)
    print_summary(call.output, summary.document())
