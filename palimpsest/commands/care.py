"""Care for a store: `rebuild`, `verify`, the log as a file, the schemas."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from palimpsest.commands import drawing
from palimpsest.commands.invocation import Invocation, invocation
from palimpsest.commands.reaching import reach
from palimpsest.commands.shell import FAILED
from palimpsest.contracts.errors import UsageError
from palimpsest.output import Progress
from palimpsest.paths import PROJECTIONS

STDOUT = "-"

app = typer.Typer()
log = typer.Typer(
    no_args_is_help=True,
    help="The log as a file: CloudEvents, one a line, byte for byte.",
    epilog="Example: palimpsest log export backup.jsonl",
)


@app.command(epilog="Example: palimpsest rebuild duckdb")
def rebuild(
    context: typer.Context,
    projections: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROJECTION…", help="lancedb or duckdb; else both."),
    ] = None,
) -> None:
    """Make projections anew from the log, beside the live ones, and swap them in."""
    call = invocation(context)
    wanted = projections or list(PROJECTIONS)
    if unknown := sorted(set(wanted) - set(PROJECTIONS)):
        raise typer.BadParameter(f"no projection {', '.join(unknown)}: {', '.join(PROJECTIONS)}")
    with call.store() as store, call.output.progress() as report:
        made = store.rebuild(wanted, progress=report)
    call.output.answer(made, lambda: drawing.fields(made))


@app.command(epilog="Example: palimpsest verify")
def verify(context: typer.Context) -> None:
    """Fold the log and list every difference to the projections; exit status 1 if there is one."""
    call = invocation(context)
    with call.store() as store, call.output.progress() as report:
        found = store.verify(progress=report)
    call.output.answer(found, lambda: drawing.verified(found))
    if found["differences"]:
        call.output.remark("`palimpsest rebuild` makes the projections anew from the log")
        raise typer.Exit(FAILED)


@log.command("export", epilog="Example: palimpsest log export backup.jsonl")
def export_log(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Must not be there yet; - is standard output.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write the whole log to a file."""
    from palimpsest.exchange import write_log

    call = invocation(context)
    if file.exists() and not force and str(file) != STDOUT:
        raise typer.BadParameter(f"{file} is there already: --force overwrites it")
    with call.store() as store, call.output.progress() as report:
        call.warn_if_behind(store, at_all=True)
        progress = _events(report, "written")
        if str(file) == STDOUT:
            out = typer.get_binary_stream("stdout")
            count = write_log(store.desk, out, progress)
            call.output.remark(f"{count:,} events written")
            return
        count = store.export_log(file, progress=progress)
    answer = {"events": count, "file": str(file)}
    call.output.answer(answer, lambda: drawing.fields(answer))


@log.command("import", epilog="Example: palimpsest --store copy log import backup.jsonl")
def import_log(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `log export` wrote.")],
) -> None:
    """Make a store of an exported log; the store must not have events yet.

    Where a cluster is named, its decisions are made of the log instead: its
    topics must be empty, and no worker should run.
    """
    call = invocation(context)
    if call.settings.kafka is not None:
        _into_topics(call, file)
        return
    from palimpsest.store import Palimpsest

    with call.output.progress() as report:
        count = Palimpsest.import_log(call.settings.store, file, progress=_events(report, "read"))
    answer = {"events": count, "store": str(call.settings.store)}
    call.output.answer(answer, lambda: drawing.fields(answer))


def _into_topics(call: Invocation, file: Path) -> None:
    connection = reach(call)
    from palimpsest.exchange import require_events
    from palimpsest.streams.cluster.importing import import_lines
    from palimpsest.streams.cluster.topics import read_topics

    async def imported(lines: IO[bytes]) -> int:
        def read() -> IO[bytes]:
            lines.seek(0)
            return lines

        topics = await read_topics(connection)
        return await import_lines(connection, topics, read, _events(report, "published"))

    with call.output.progress() as report, opened(file) as lines:
        count = asyncio.run(imported(lines))
    require_events(count, file)
    answer = {"events": count, "bootstrap": connection.bootstrap}
    call.output.answer(answer, lambda: drawing.fields(answer))


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """A file that is read; UsageError where it cannot be."""
    try:
        with file.open("rb") as lines:
            yield lines
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _events(report: Progress, done: str) -> Callable[[int], None]:
    return lambda count: report(f"{count} events {done}", None)


@app.command(epilog="Example: palimpsest schemas build/schemas")
def schemas(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made where it is not there.")],
) -> None:
    """Write the JSON Schemas of all that is said and recorded, and the topics as AsyncAPI."""
    from palimpsest.contracts.schema import documents, written

    call = invocation(context)
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, schema in documents().items():
        (folder / name).write_bytes(written(schema))
        names.append(name)
    answer = {"folder": str(folder), "files": names}
    call.output.answer(answer, lambda: drawing.listed(f"{len(names)} files in {folder}", names))
