"""The Faust app: agents on candidates and commands, with one writer per partition.

Faust delivers the records and manages the consumer group; it holds no state. Some of its defaults
lose records, so acknowledging, producing and restoring are done here.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import mode.loop
from aiokafka.errors import KafkaError

mode.loop.use("uvloop")

import faust  # noqa: E402 - the event loop must be chosen before the import
import faust.transport.drivers.aiokafka as driver  # noqa: E402
from faust import web  # noqa: E402

from palimpsest.contracts.errors import DiskFullError, NewerError  # noqa: E402
from palimpsest.contracts.policy import Policy  # noqa: E402
from palimpsest.streams.cluster.connection import Connection  # noqa: E402
from palimpsest.streams.cluster.health import PAGES, TEXT, HealthPage  # noqa: E402
from palimpsest.streams.cluster.reader import DecisionsDeletedError  # noqa: E402
from palimpsest.streams.cluster.records import Record  # noqa: E402
from palimpsest.streams.cluster.topics import Topics, require_counts  # noqa: E402
from palimpsest.streams.cluster.unpacking import bound_unpacking  # noqa: E402
from palimpsest.streams.cluster.worker.assigned_partition import INPUTS, Delivery, worker_group  # noqa: E402
from palimpsest.streams.cluster.worker.consumer import FAUST, CommittedConsumerThread, Member  # noqa: E402
from palimpsest.streams.cluster.worker.leave_group import CLIENT, STANDBY_CLIENT  # noqa: E402
from palimpsest.streams.cluster.worker.manager import AGAIN_SECONDS, PartitionManager  # noqa: E402
from palimpsest.streams.cluster.worker.metrics import LETTERS_PER_MINUTE, CountedEmbedder, Metrics  # noqa: E402
from palimpsest.streams.cluster.worker.watch import Watch, ask_waiting  # noqa: E402
from palimpsest.streams.embedder import Embedder, EmbedderSource  # noqa: E402
from palimpsest.streams.ending import end_in_time  # noqa: E402
from palimpsest.streams.write.writer import Effect, no_effect  # noqa: E402

_log = logging.getLogger(__name__)

BUFFERED = 4096
"""Records of a topic that Faust buffers; then it pauses fetching for up to a second. A quarter of
this number would halve a worker's throughput."""
FETCHED = 512
"""Maximum number of records that Faust takes at once: a partition exceeds its limit by few more."""
SESSION_SECONDS = 6.0
HEARTBEAT_SECONDS = 1.0
REBALANCE_SECONDS = 20.0
COMMIT_SECONDS = 0.25
REQUEST_SECONDS = 30.0
"""After this time a lost answer is requested again; longer than a rebalance may take."""
GIVEN_UP = -1
"""A value that is never the generation of a consumer group."""
CRASHED = 1
"""The exit status of a worker that ended without being stopped."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of one worker process.

    `instance` names it among the workers: a worker with a unique name can restart without waiting
    for its session to expire. `folder` is for its replicas, and may be lost; with `standby` it also
    has replicas of the other workers' partitions.
    """

    connection: Connection
    topics: Topics
    folder: Path
    policy: Policy
    embedder: Callable[[], Embedder] | EmbedderSource
    instance: str | None = None
    web_port: int | None = None
    session_seconds: float = SESSION_SECONDS
    letters_per_minute: int = LETTERS_PER_MINUTE
    standby: bool = False
    effect: Effect = no_effect


def run(settings: WorkerSettings, log_level: str | None = "info") -> NoReturn:
    """Run as a worker until SIGTERM or Ctrl-C; ends the process, with 0 only if stopped.

    Raises DecisionsDeletedError or NewerError, which no restart cures, instead of ending the
    process. `log_level` None leaves logging as the process has configured it.
    """
    app = build_app(settings)
    process = _Process(
        app,
        loglevel=log_level,
        override_logging=log_level is not None,
        redirect_stdouts=False,
    )
    process.spinner = None
    status: Any = CRASHED
    try:
        process.execute_from_commandline()
    except SystemExit as ended:
        status = ended.code
    except asyncio.CancelledError:
        pass  # Faust raises its crash reason again, which may be a cancelled wait
    except KafkaError:
        pass  # logged already; caused by brokers or another writer of a partition, not by a bug
    if isinstance(app.crash_reason, DecisionsDeletedError | NewerError):
        raise app.crash_reason
    raise SystemExit(0 if app.was_asked_to_stop else status)


class _Process(faust.Worker):
    """Faust's worker, which ends in time when it is stopped, and shows no spinner."""

    app: WorkerApp
    logger = FAUST

    def _on_startup_end_spinner(self) -> None:
        """Called by Faust when it has started; says nothing, because the worker is ready later."""

    def _schedule_shutdown(self, number: signal.Signals) -> None:
        """Called by Faust on a signal."""
        if self.crash_reason is None:
            self.app.was_asked_to_stop = True
            end_in_time(0)
        super()._schedule_shutdown(number)


class WorkerApp(faust.App):
    """Faust's app; before it stops, it finishes decisions, while it can still acknowledge them."""

    logger = FAUST
    manager: PartitionManager
    was_asked_to_stop = False
    """Whether a signal stopped it before anything failed. Later failures are not crashes: nothing
    in progress is acknowledged, and the brokers may be away.
    """

    async def on_stop(self) -> None:
        """Called by Faust before it stops its consumer, even after a failure."""
        if not self.was_asked_to_stop:
            end_in_time(CRASHED)
        await self.manager.close()
        if self.was_asked_to_stop:
            await Member(self).leave_to_standby()
        await super().on_stop()


def build_app(settings: WorkerSettings) -> WorkerApp:
    """The app that `palimpsest worker` runs."""
    settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    app = _app(settings)
    # Faust's choice without tables is aiokafka's round robin over all topics' partitions, which
    # gives the two topics of one partition to different workers.
    vars(driver)["RoundRobinPartitionAssignor"] = app.assignor
    vars(driver)["AIOKafkaConsumerThread"] = CommittedConsumerThread
    bound_unpacking()

    member = Member(app)

    async def failed(error: BaseException) -> None:
        if not isinstance(error, DiskFullError):
            await app.crash(error)
        elif not app.should_stop:
            await member.join_again()

    metrics = Metrics(settings.letters_per_minute)

    @cache
    def embedder_of(model: str) -> Embedder:
        source = settings.embedder
        if not isinstance(source, EmbedderSource):
            return CountedEmbedder(source().engine, metrics)
        if (why := source.why_not(model)) is not None:
            _log.warning("%s", why)
        return CountedEmbedder(source.of(model).engine, metrics)

    manager = PartitionManager(
        settings.connection,
        settings.topics,
        settings.folder,
        settings.policy,
        embedder_of,
        lambda: datetime.now(UTC),
        failed,
        metrics,
        settings.effect,
        standing_by=settings.standby,
    )
    app.manager = manager
    ask = partial(ask_waiting, settings.connection, settings.topics)
    watch = Watch(member, manager, metrics, ask, failed)
    app.task(watch.watch_loop)
    app.task(watch.look_loop)
    add_pages(app, watch)
    _connect(app, member, watch, manager, settings)
    return app


def add_pages(app: faust.App, watch: Watch) -> None:
    """Put /metrics, /healthz and /readyz on Faust's web server."""
    for name, render in PAGES.items():
        _add_page(app, name, partial(render, watch))


def _add_page(app: faust.App, name: str, render: Callable[[], HealthPage]) -> None:
    async def page(view: web.View, _request: web.Request) -> web.Response:
        found = render()
        return view.bytes(found.body, content_type=TEXT, status=found.status)

    app.page(f"/{name}", name=name)(page)


def _app(settings: WorkerSettings) -> WorkerApp:
    return WorkerApp(
        worker_group(settings.topics),
        **settings.connection.faust_arguments(),
        value_serializer="raw",
        key_serializer="raw",
        agent_supervisor=mode.CrashingSupervisor,
        table_standby_replicas=0,
        topic_disable_leader=True,
        topic_allow_declare=False,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=settings.instance,
        broker_client_id=STANDBY_CLIENT if settings.standby else CLIENT,
        broker_commit_interval=COMMIT_SECONDS,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=min(HEARTBEAT_SECONDS, settings.session_seconds / 3),
        broker_rebalance_timeout=REBALANCE_SECONDS,
        broker_request_timeout=REQUEST_SECONDS,
        producer_request_timeout=REQUEST_SECONDS,
        stream_buffer_maxsize=BUFFERED,
        broker_max_poll_records=FETCHED,
        # Records dropped at a revocation are never acknowledged: Faust would wait for them for
        # ever. The manager finishes what it has started.
        stream_wait_empty=False,
        web_tables_enabled=False,
        # Useless without tables, and Faust asserts that it matches the assignment: a worker that
        # returns under its name with another port would fail.
        canonical_url="http://worker",
        **_web(settings.web_port),
        cython_optimizations=True,
        datadir=str(settings.folder / "faust"),
    )


def _web(port: int | None) -> dict[str, Any]:
    return {"web_enabled": False} if port is None else {"web_bind": "127.0.0.1", "web_port": port}


def _connect(
    app: faust.App,
    member: Member,
    watch: Watch,
    manager: PartitionManager,
    settings: WorkerSettings,
) -> None:
    """Let the manager follow assignments, and the agents pass records to it."""
    names = map(settings.topics.name, INPUTS)
    candidates, commands = (app.topic(name, value_type=bytes, key_type=bytes) for name in names)

    @app.on_rebalance_complete.connect
    async def ready(*_: Any, **__: Any) -> None:
        """Assign the partitions; if they do not get ready, keep Faust from delivering records.

        Records delivered before the next assignment would be lost, while later ones go to the
        partition's next worker. Faust delivers nothing if the generation has changed meanwhile.
        """
        generation = app.consumer_generation_id
        is_ready = await _assign(app, member, manager, settings)
        if not is_ready and app.consumer_generation_id == generation:
            app.consumer_generation_id = GIVEN_UP

    @app.on_partitions_revoked.connect
    async def revoked(*_: Any, **__: Any) -> None:
        await manager.revoke()
        await app.consumer.commit()

    @app.agent(candidates, name="candidates")
    async def on_candidates(stream: Any) -> None:
        async for delivery in _deliveries(app, watch, stream):
            manager.candidates([delivery])

    @app.agent(commands, name="commands")
    async def on_commands(stream: Any) -> None:
        async for delivery in _deliveries(app, watch, stream):
            manager.commands([delivery])


async def _assign(
    app: faust.App, member: Member, manager: PartitionManager, settings: WorkerSettings
) -> bool:
    """Assign this worker's partitions to the manager: the same ones of both topics.

    Returns False if it is not ready. StoreError if a topic is missing or has another number of
    partitions.
    """
    names = map(settings.topics.name, INPUTS)
    assignment = app.consumer.assignment()
    first, second = ({at.partition for at in assignment if at.topic == name} for name in names)
    if first == second:
        return await manager.assign(first)
    await require_counts(settings.connection, settings.topics)
    # The worker has returned under its name to partitions assigned while one topic was missing.
    _log.warning("was assigned partitions of one input topic alone: asks for a new assignment")
    await asyncio.sleep(AGAIN_SECONDS)
    await member.join_again()
    return False


async def _deliveries(app: faust.App, watch: Watch, stream: Any) -> AsyncIterator[Delivery]:
    """Records of the current assignment; the rest of an earlier one is delivered again.

    They come one by one, and are combined later for deciding. Faust's way to take many wakes up
    again and again to check for records, which took a sixth of the event loop's time.
    """
    async for event in stream.noack().events():
        if event.message.generation_id == app.consumer_generation_id:
            yield Delivery(_record(event.message), watch.acknowledging(event))


def _record(message: Any) -> Record:
    headers = message.headers or ()
    return Record(
        message.topic,
        message.partition,
        message.offset,
        message.value or b"",
        message.key,
        tuple(headers.items() if isinstance(headers, dict) else headers),
    )
