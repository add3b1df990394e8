"""The processes of a cluster, `worker` and `project`, and its `topics`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from palimpsest.cli import rendering
from palimpsest.cli.invocation import Invocation, invocation
from palimpsest.cli.rendering import shown
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.contracts.extras import missing_extra
from palimpsest.process.signals import stop_event

if TYPE_CHECKING:
    from palimpsest.settings.settings import Settings
    from palimpsest.streams.cluster.client.restore import Copy, RestoredPartition
    from palimpsest.streams.cluster.connection import Connection
    from palimpsest.streams.cluster.reader import Offsets
    from palimpsest.streams.cluster.setup import Finding
    from palimpsest.streams.cluster.topics import Topics
    from palimpsest.streams.embedder import Embedder, EmbedderSource


# -- the connection ------------------------------------------------------------------------------


_log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5

WARN_SECONDS = 30.0


def require_cluster(call: Invocation) -> Connection:
    """The connection to the cluster; UsageError if none is configured or the extra is missing."""
    connection = call.settings.kafka
    if connection is None:
        raise UsageError(
            "no Kafka cluster is named: --bootstrap HOST:PORT, PALIMPSEST_KAFKA_BOOTSTRAP, or"
            " bootstrap under [kafka] in palimpsest.toml"
        )
    if find_spec("aiokafka") is None:
        raise missing_extra("a cluster", "cluster")
    return connection


async def wait_for_topics(connection: Connection) -> Topics:
    """Wait until a broker answers, and return the installation's topics.

    Brokers may start later than this process; it logs a warning from time to time. Raises
    StoreError if there are no topics, TransientError if the brokers refuse the connection.
    """
    import asyncio

    from palimpsest.streams.cluster.metadata import BrokersAwayError
    from palimpsest.streams.cluster.topics import read_topics

    now = asyncio.get_running_loop().time
    due = now()
    with _mute("aiokafka"):
        while True:
            try:
                return await read_topics(connection)
            except BrokersAwayError as error:
                if now() >= due:
                    _log.warning("%s; waiting for one", error)
                    due = now() + WARN_SECONDS
                await asyncio.sleep(RETRY_SECONDS)


@contextmanager
def _mute(name: str) -> Iterator[None]:
    """Silence a library's logger, which warns about every address that it cannot reach."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


# -- worker, project -----------------------------------------------------------------------------


app = typer.Typer()

WORKER_FOLDER = Path(".palimpsest-worker")

WebPort = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=65535, help="Serve pages on the loopback."),
]


@app.command(epilog="Example: palimpsest worker --bootstrap 127.0.0.1:9092 --instance worker-1")
def worker(
    context: typer.Context,
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A name unique among the workers, to restart without delay."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="For its replicas; default .palimpsest-worker[-P][-NAME]."
        ),
    ] = None,
    standby: Annotated[
        bool | None,
        typer.Option(
            "--standby", help="Replicate the others' partitions too, for take-overs without delay."
        ),
    ] = None,
    web_port: WebPort = None,
    letters_per_minute: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Report a flood above N dead letters a minute; default 100."
        ),
    ] = None,
) -> None:
    """Decide on the records of the topics, as one of any number of workers.

    Runs until SIGTERM or Ctrl-C, then exits with 0. If its folder is
    lost, it is filled again from the decisions.
    """
    import asyncio

    call = invocation(context)
    connection = require_cluster(call)
    settings = call.settings.over(
        instance=instance,
        data=data,
        standby=standby,
        web_port=web_port,
        letters_per_minute=letters_per_minute,
    )
    _require_free(settings.web_port)
    from palimpsest.process.logs import log_to_standard_error

    log_to_standard_error()
    topics = asyncio.run(_check_topics(connection))
    _run_worker(settings, connection, topics, _embedder(call))


def _run_worker(
    settings: Settings,
    connection: Connection,
    topics: Topics,
    embedder: Callable[[], Embedder] | EmbedderSource,
) -> None:
    """Run the worker of a folder until it is stopped."""
    from palimpsest.streams.cluster.worker.metrics import LETTERS_PER_MINUTE
    from palimpsest.streams.cluster.worker.worker import WorkerSettings, run

    folder = settings.data or worker_folder(topics.prefix, settings.instance)
    letters = settings.letters_per_minute
    with _exclusive(folder):
        run(
            WorkerSettings(
                connection,
                topics,
                folder,
                settings.policy_of_new_store(),
                embedder,
                instance=settings.instance,
                web_port=settings.web_port,
                letters_per_minute=LETTERS_PER_MINUTE if letters is None else letters,
                standby=settings.standby,
            ),
            log_level=None,
        )


def _require_free(port: int | None) -> None:
    """Raise TransientError if the port is taken; it may be free soon, if its process is ending."""
    import socket

    if port is None:
        return
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            why = f"no pages at port {port}: {error.strerror} (--web-port)"
            raise TransientError(why) from None


async def _check_topics(connection: Connection) -> Topics:
    """The topics, after checking their partition counts and our permissions."""
    from palimpsest.streams.cluster.access import WORKER, require_access
    from palimpsest.streams.cluster.topics import require_counts

    topics = await wait_for_topics(connection)
    await require_counts(connection, topics)
    await require_access(connection, topics, WORKER)
    return topics


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Lock the folder of a worker: two workers would fill the same replicas."""
    from palimpsest.streams.embedded.lock import WriterLock

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = WriterLock(folder)
    if not lock.try_acquire():
        raise UsageError(f"another worker has the folder {folder}: give each its own --data DIR")
    try:
        yield
    finally:
        lock.release()


def worker_folder(prefix: str, instance: str | None) -> Path:
    """The default folder of a worker's replicas, distinct for each installation on a machine."""
    return Path("-".join(filter(None, (str(WORKER_FOLDER), prefix, instance))))


def _embedder(call: Invocation) -> EmbedderSource:
    """Load the configured model before partitions are assigned, so that they need not wait for it.

    With the engine `none` there is nothing to load; the policy then says how texts are decided on.
    """
    from palimpsest.streams.embedder import EmbedderSource, load_engine

    settings = call.settings
    load = cache(partial(load_engine, engine=settings.engine or "onnx"))
    source = EmbedderSource(load, settings.model, settings.embedder)
    if settings.engine != "none" or settings.embedder is not None:
        with call.output.progress() as report:
            report("loading the model", None)
            source.engine(settings.dedup.load(settings.policy or "standard").model)
    return source


@app.command(epilog="Example: palimpsest --store memories project --bootstrap 127.0.0.1:9092")
def project(context: typer.Context, web_port: WebPort = None) -> None:
    """Follow a cluster's decisions into the store: recall, show, sql and status read them there.

    Creates the store if there is none. Runs until SIGTERM or Ctrl-C, then
    exits with 0; restarted, it continues where it stopped.
    """
    import asyncio

    call = invocation(context)
    connection = require_cluster(call)
    settings = call.settings.over(web_port=web_port)
    _require_free(settings.web_port)
    from palimpsest.process.logs import log_to_standard_error

    log_to_standard_error()
    folder, followed = settings.store, 0

    def count(records: int) -> None:
        nonlocal followed
        followed += records
        report(f"{counted(followed, 'record')} followed", None)

    with call.output.progress() as report:
        asyncio.run(_follow(folder, connection, count, settings.web_port))
    document = {"store": str(folder), "records": followed}
    call.output.answer(document, lambda: rendering.fields(document))


async def _follow(
    folder: Path, connection: Connection, count: Callable[[int], None], web_port: int | None
) -> None:
    from palimpsest.backends.projector_service import Follower
    from palimpsest.streams.cluster.access import PROJECTOR, require_access
    from palimpsest.streams.cluster.health import FollowerWatch, watching
    from palimpsest.streams.cluster.tasks import StoppedError, unless

    stop, watch = stop_event(), FollowerWatch(connection)

    def report_position(records: int, at: Offsets) -> None:
        count(records)
        watch.took(records, at)

    async with watching(watch, web_port):
        with suppress(StoppedError):
            topics = await unless(stop, wait_for_topics(connection))
            await unless(stop, require_access(connection, topics, PROJECTOR))
            await Follower(_create_folder(folder), connection, topics, report_position).run(stop)


def _create_folder(folder: Path) -> Path:
    """Create the store's folder; called only after the topics are found."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


# -- topics --------------------------------------------------------------------------------------


topics_app = typer.Typer(
    no_args_is_help=True,
    help="Create, check and restore the topics of a Kafka cluster.",
    epilog="Example: palimpsest topics create --bootstrap 127.0.0.1:9092",
)


@topics_app.command(
    epilog="Example: palimpsest topics create --bootstrap 127.0.0.1:9092 --partitions 24"
)
def create(
    context: typer.Context,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Per topic, for ever; default: that of existing topics, or 12."
        ),
    ] = None,
    replication: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Copies; default: 3, or the number of brokers if fewer."
        ),
    ] = None,
) -> None:
    """Create missing topics; change no existing one, and report what differs."""
    import asyncio

    call = invocation(context)
    connection = require_cluster(call)
    from palimpsest.streams.cluster import setup

    _report(call, asyncio.run(setup.create(connection, partitions, replication)))


@topics_app.command(epilog="Example: palimpsest topics check --bootstrap 127.0.0.1:9092")
def check(
    context: typer.Context,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="The expected number; default: that of the decisions topic."
        ),
    ] = None,
) -> None:
    """Compare the topics with what they must be; exit status 1 if one differs."""
    import asyncio

    call = invocation(context)
    connection = require_cluster(call)
    from palimpsest.streams.cluster import setup

    _report(call, asyncio.run(setup.check(connection, partitions)))


@topics_app.command(epilog="Example: palimpsest --store memories topics restore --dry-run")
def restore(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An output of `log export`; default: the store."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what each partition would have.")
    ] = False,
) -> None:
    """Restore decisions that the brokers deleted, from the store or an export.

    Stop all workers first. The decisions topic is deleted and created
    anew, with the deleted decisions followed by those that it still had.
    Refused if a decision would be missing between the two. Replicas are
    filled again; every store that follows has to be replaced by a new one.
    """
    import asyncio

    call = invocation(context)
    connection = require_cluster(call)
    from palimpsest.streams.cluster.client.restore import restore as restore_topic
    from palimpsest.streams.cluster.topics import Topics

    topic = Topics(connection.prefix).name("decisions")
    with call.output.progress() as report, _copy(call.settings.store, file, topic) as copy:

        def progress(done: str, count: int, total: int | None) -> None:
            of = "" if total is None else f" of {total:,}"
            report(f"{count:,}{of} decisions {done}", None if total is None else count / total)

        restored = asyncio.run(restore_topic(connection, copy, progress, dry_run=dry_run))
    document = {
        "topic": topic,
        "dry_run": dry_run,
        "partitions": [asdict(partition) for partition in restored],
    }
    call.output.answer(document, lambda: Group(*_restored_lines(topic, restored, dry_run)))


@contextmanager
def _copy(store: Path, file: Path | None, topic: str) -> Iterator[Copy]:
    """An export, or the store's own log with how far it follows the topic."""
    from palimpsest.backends.paths import LOG_FILE
    from palimpsest.jobs.log_files import read_lines
    from palimpsest.streams.cluster.client.restore import Copy
    from palimpsest.streams.cluster.worker.replica import Replica

    kept = f"{topic}.restoring"
    if file is not None:
        yield Copy(lambda: read_lines(file), {}, file.with_name(f"{file.name}.{kept}"))
        return
    with Replica.open(store / LOG_FILE, read_only=True) as log:
        reached = log.rows(
            "SELECT topic_id, partition, next_offset FROM followed WHERE topic = ?", (topic,)
        )
        yield Copy(
            lambda: (line for _, line in log.lines()),
            {(topic_id, partition): offset for topic_id, partition, offset in reached},
            store / kept,
        )


def _report(call: Invocation, findings: Sequence[Finding]) -> None:
    fine = all(finding.fine for finding in findings)
    document = {"fine": fine, "topics": [asdict(finding) for finding in findings]}
    call.output.answer(document, lambda: Group(*map(_finding_line, findings)))
    if not fine:
        raise typer.Exit(FAILED)


def _restored_lines(
    topic: str, restored: Sequence[RestoredPartition], dry_run: bool
) -> Iterator[Text]:
    if not restored:
        yield shown(f"{topic}: nothing was deleted, so there is nothing to restore")
        return
    for one in restored:
        yield shown(
            f"{topic}, partition {one.partition}: {counted(one.from_copy, 'decision')} from"
            f" the copy, before {one.from_topic:,} that the topic has"
        )
    if dry_run:
        yield shown("nothing was changed (--dry-run)")
    else:
        yield shown("restored: start the workers, and follow the topic with new stores")


def _finding_line(finding: Finding) -> Text:
    mark = ("✓", "green") if finding.fine else ("✗", "red")
    advice = f"\n    {finding.advice}" if finding.advice else ""
    text = f" {finding.topic}: {finding.state}, {finding.detail}"
    return Text.assemble(mark, shown(text), advice)
