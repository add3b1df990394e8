"""`worker` and `project`: the processes of a cluster, each until it is told to end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.commands import drawing
from palimpsest.commands.invocation import Invocation, invocation
from palimpsest.commands.reaching import reach, topics_at_last
from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.interrupts import told_to_end
from palimpsest.output import Progress

if TYPE_CHECKING:
    from palimpsest.settings import Settings
    from palimpsest.streams.cluster.connection import Connection
    from palimpsest.streams.cluster.following import Offsets
    from palimpsest.streams.cluster.topics import Topics
    from palimpsest.streams.embedder import Embedder

app = typer.Typer()

WORKER_FOLDER = Path(".palimpsest-worker")
WebPort = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=65535, help="Pages on the loopback; else none."),
]


@app.command(epilog="Example: palimpsest worker --bootstrap 127.0.0.1:9092 --instance worker-1")
def worker(
    context: typer.Context,
    instance: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its own among the workers: it restarts without a wait."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="For its copies; else .palimpsest-worker, -P and -NAME if given."
        ),
    ] = None,
    standby: Annotated[
        bool | None,
        typer.Option(
            "--standby", help="Copy the others' partitions too: taking one over waits for nothing."
        ),
    ] = None,
    web_port: WebPort = None,
    letters_per_minute: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="More dead letters are a flood (100)."),
    ] = None,
) -> None:
    """Decide on what comes in the topics, as one of any number of workers.

    Runs until SIGTERM or Ctrl-C, and ends with 0 then. What it keeps in
    its folder can be lost: it is filled from the decisions again.
    """
    call = invocation(context)
    connection = reach(call)
    settings = call.settings.over(
        instance=instance,
        data=data,
        standby=standby,
        web_port=web_port,
        letters_per_minute=letters_per_minute,
    )
    _require_free(settings.web_port)
    from palimpsest.logs import log_to_standard_error

    log_to_standard_error()
    topics = asyncio.run(_compared(connection))
    _decide(settings, connection, topics, _embedder(call))


def _decide(settings: Settings, connection: Connection, topics: Topics, embedder: Embedder) -> None:
    """Be the worker of a folder until told to end."""
    from palimpsest.streams.cluster.metrics import LETTERS_PER_MINUTE
    from palimpsest.streams.cluster.worker import WorkerSettings, run
    from palimpsest.streams.policies import load_policy

    folder = settings.data or worker_folder(topics.prefix, settings.instance)
    letters = settings.letters_per_minute
    with _alone(folder):
        run(
            WorkerSettings(
                connection,
                topics,
                folder,
                load_policy(settings.policy or "standard"),
                lambda: embedder,
                instance=settings.instance,
                web_port=settings.web_port,
                letters_per_minute=LETTERS_PER_MINUTE if letters is None else letters,
                standby=settings.standby,
            ),
            log_level=None,
        )


def _require_free(port: int | None) -> None:
    """TransientError where the port of the pages is taken: it may be by one that is ending."""
    if port is None:
        return
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            why = f"no pages at port {port}: {error.strerror} (--web-port)"
            raise TransientError(why) from None


async def _compared(connection: Connection) -> Topics:
    """The topics, with partitions as `topics check` wants them."""
    from palimpsest.streams.cluster.topics import compare_counts

    topics = await topics_at_last(connection)
    await compare_counts(connection, topics)
    return topics


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The folder of a worker, which no other may have: it would fill the same copies."""
    from palimpsest.streams.embedded.lock import WriterLock

    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder)
    if not lock.try_acquire():
        raise UsageError(f"another worker has the folder {folder}: give each its own --data DIR")
    try:
        yield
    finally:
        lock.release()


def worker_folder(prefix: str, instance: str | None) -> Path:
    """Where a worker has its copies by default: its own among a machine's installations."""
    return Path("-".join(filter(None, (str(WORKER_FOLDER), prefix, instance))))


def _embedder(call: Invocation) -> Embedder:
    """The embedder, loaded: a worker that had partitions first would keep them waiting."""
    from palimpsest.streams.embedder import DEFAULT_MODEL, Embedder, load_engine

    settings = call.settings
    with call.output.progress() as report:
        engine = load_engine(
            settings.model or DEFAULT_MODEL, settings.engine or "onnx", progress=report
        )
    return Embedder(engine)


@app.command(epilog="Example: palimpsest --store memories project --bootstrap 127.0.0.1:9092")
def project(context: typer.Context, web_port: WebPort = None) -> None:
    """Follow a cluster's decisions into the store: recall, show, sql and status read them there.

    Makes the store where there is none. Runs until SIGTERM or Ctrl-C, and
    ends with 0 then; started again, it goes on where it was.
    """
    call = invocation(context)
    connection = reach(call)
    settings = call.settings.over(web_port=web_port)
    _require_free(settings.web_port)
    from palimpsest.logs import log_to_standard_error

    log_to_standard_error()
    folder = settings.store
    with call.output.progress() as report:
        taken = _Taken(report)
        asyncio.run(_followed(folder, connection, taken, settings.web_port))
    document = {"store": str(folder), "records": taken.records}
    call.output.answer(document, lambda: drawing.fields(document))


class _Taken:
    """Counts the records that were taken."""

    def __init__(self, report: Progress) -> None:
        self.records = 0
        self._report = report

    def __call__(self, records: int) -> None:
        self.records += records
        self._report(f"{self.records:,} records followed", None)


async def _followed(
    folder: Path, connection: Connection, taken: _Taken, web_port: int | None
) -> None:
    from palimpsest.following import Follower
    from palimpsest.streams.cluster.follower_pages import FollowerWatch, watching
    from palimpsest.streams.cluster.stopping import StoppedError, unless

    stop, watch = told_to_end(), FollowerWatch(connection)

    def told(records: int, at: Offsets) -> None:
        taken(records)
        watch.took(records, at)

    async with watching(watch, web_port):
        with suppress(StoppedError):
            topics = await unless(stop, topics_at_last(connection))
            await Follower(_made(folder), connection, topics, told).run(stop)


def _made(folder: Path) -> Path:
    """The store's folder, made only now: where there is nothing to follow, none is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder
