"""Files of the log (`log export`, `log import`) and unreadable input (`dead-letters`)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import typer

from palimpsest.cli import rendering
from palimpsest.cli.commands.cluster import require_cluster
from palimpsest.cli.commands.ingestion import Renames, open_file, parse_renames, print_summary
from palimpsest.cli.invocation import Invocation, invocation, limit_option
from palimpsest.contracts.counting import counted
from palimpsest.contracts.limits import MOST
from palimpsest.process.output import Progress
from palimpsest.process.targets import require_targets

STDOUT = "-"

app = typer.Typer(
    no_args_is_help=True,
    help="The log as a file: CloudEvents, one a line, byte for byte.",
    epilog="Example: palimpsest log export backup.jsonl",
)


@app.command("export", epilog="Example: palimpsest log export backup.jsonl")
def export_log(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; - is standard output.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the whole log to a file."""
    from palimpsest.jobs.log_files import write_log

    call = invocation(context)
    if str(file) != STDOUT:
        require_targets({"FILE": file})
    if file.exists() and not force and str(file) != STDOUT:
        raise typer.BadParameter(f"{file} exists already: --force overwrites it")
    with call.store() as store, call.output.progress() as report:
        call.warn_if_behind(store, at_all=True)
        progress = _event_progress(report, "written")
        if str(file) == STDOUT:
            out = typer.get_binary_stream("stdout")
            count = write_log(store.reader, out, progress)
            call.output.remark(f"{counted(count, 'event')} written")
            return
        count = store.export_log(file, progress=progress)
    answer = {"events": count, "file": str(file)}
    call.output.answer(answer, lambda: rendering.fields(answer))


@app.command("import", epilog="Example: palimpsest --store copy log import backup.jsonl")
def import_log(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The output of `log export`.")],
) -> None:
    """Create a store from an exported log; the store must not have events yet.

    With a cluster, create its decisions from the log instead: its topics
    must be empty, and no worker should run.
    """
    call = invocation(context)
    if call.settings.kafka is not None:
        _import_into_topics(call, file)
        return
    from palimpsest.api.store import Palimpsest

    with call.output.progress() as report:
        count = Palimpsest.import_log(
            call.settings.store, file, progress=_event_progress(report, "read")
        )
    answer = {"events": count, "store": str(call.settings.store)}
    call.output.answer(answer, lambda: rendering.fields(answer))


def _import_into_topics(call: Invocation, file: Path) -> None:
    import asyncio

    connection = require_cluster(call)
    from palimpsest.jobs.log_files import require_events
    from palimpsest.streams.cluster.client.import_log import import_lines
    from palimpsest.streams.cluster.topics import read_topics

    async def publish(lines: IO[bytes]) -> int:
        """Publish the lines; returns the number of events."""

        def read() -> IO[bytes]:
            """The lines from the start; they are read twice."""
            lines.seek(0)
            return lines

        topics = await read_topics(connection)
        return await import_lines(connection, topics, read, _event_progress(report, "published"))

    with call.output.progress() as report, open_file(file) as lines:
        count = asyncio.run(publish(lines))
    require_events(count, file)
    answer = {"events": count, "bootstrap": connection.bootstrap}
    call.output.answer(answer, lambda: rendering.fields(answer))


def _event_progress(report: Progress, done: str) -> Callable[[int], None]:
    return lambda count: report(f"{counted(count, 'event')} {done}", None)


# -- dead letters ----------------------------------------------------------------------------------

dead_letters_app = typer.Typer(
    no_args_is_help=True,
    help="Unreadable input, with its original bytes.",
    epilog="Example: palimpsest dead-letters list",
)

State = Literal["open", "retried"]


@dead_letters_app.command("list", epilog="Example: palimpsest dead-letters list --state open")
def list_dead_letters(
    context: typer.Context,
    state: Annotated[State | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, limit_option("dead letters on the page")] = 100,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="The page after this dead letter.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, on one page.")] = False,
) -> None:
    """List dead letters, the oldest first, each with its reason, a page at a time."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    most = None if everything else min(limit + 1, MOST)
    with call.store() as store:
        first = after and full_id(store.reader, after, "letter")
        found = store.dead_letters(state, limit=most, after=first)
    page = found if everything else found[:limit]
    call.output.answer(page, lambda: rendering.dead_letters(page))
    if len(found) > len(page):
        call.output.remark(f"there are more: --after {page[-1]['id']}, or --all")


@dead_letters_app.command(epilog="Example: palimpsest dead-letters show 8c1f… --raw > row.bin")
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


@dead_letters_app.command(epilog="Example: palimpsest dead-letters retry --map content=text")
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
        wanted = [full_id(store.reader, typed, "letter") for typed in chosen or ()]
        summary: Any = store.retry_dead_letters(wanted or None, mapping=mapping)
    print_summary(call.output, summary.document())
