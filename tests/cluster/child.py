"""Workers, projectors and commands with the stub engine, forked from what has imported it all."""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from palimpsest.backends.projector_service import Follower
from palimpsest.process.logs import log_to_standard_error
from palimpsest.projections import projector
from palimpsest.streams import embedder
from palimpsest.streams.cluster import questions
from palimpsest.streams.cluster import reader as following
from palimpsest.streams.cluster.client import restore
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import assigned_partition as assigned
from palimpsest.streams.cluster.worker import consumer as consuming
from palimpsest.streams.cluster.worker import replica, watch, worker
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.embedder import Embedder, EmbedderSource, Embedding, ServiceUnavailable
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.handlers import bulk
from tests.reliability.child import Plan, effect_of, main, take
from tests.reliability.child import live as type_commands
from tests.stub_engine import StubEngine, load_stub

SESSION_SECONDS = 3.0
LATER = "faust.assignor faust.tables.manager faust.tables.sets faust.web.drivers.aiohttp".split()
"""What Faust imports when a worker starts."""


def live(plan: Plan) -> int:
    """Be a worker or a projector until a signal ends it, or the plan's crash point.

    Without `bootstrap` it is the command line that is, by settings of the environment alone.
    """
    if "bootstrap" not in plan:
        loading = terminate_while_loading if plan.get("told_while_loading") else load_stub
        vars(embedder)["load_engine"] = loading
        questions.SESSION_SECONDS = int(SESSION_SECONDS)
        _watch_the_restoration(effect_of(plan))
        return type_commands(plan)
    for stream in (1, 2):
        take(stream, f"{plan['out']}.0.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    faulthandler.register(signal.SIGUSR1)
    connection = Connection(bootstrap=plan["bootstrap"], prefix=plan["prefix"])
    topics = Topics(plan["prefix"], plan["partitions"])
    if plan["commands"] == [["project"]]:
        return _project(plan, connection, topics)
    return _work(plan, connection, topics)


def _watch_the_restoration(effect: Callable[[str], object]) -> None:
    """Make the steps of `topics restore` effects; few records are published at once."""
    restore.AT_ONCE = 3
    for name in ("_delete", "create_one", "_fill_anew"):
        vars(restore)[name] = _told_after(vars(restore)[name], partial(effect, f"restore:{name}"))
    keep = restore._Plan.keep
    vars(restore)["_Plan"].keep = _told_after(keep, partial(effect, "restore:keep"))
    published = _told_after(PartitionProducer.publish, partial(effect, "restore:publish"))
    vars(restore)["PartitionProducer"] = type(
        "Watched", (PartitionProducer,), {"publish": published}
    )


def _told_after(
    step: Callable[..., Awaitable[Any]], told: Callable[[], object]
) -> Callable[..., Awaitable[Any]]:
    async def followed(*arguments: Any) -> Any:
        result = await step(*arguments)
        told()
        return result

    return followed


def terminate_while_loading(*_: object, **__: object) -> NoReturn:
    """Load no engine, for long, and be told to end meanwhile."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)
    raise AssertionError("it did not end")


def _work(plan: Plan, connection: Connection, topics: Topics) -> int:
    assigned.TOGETHER = plan.get("taken", 64)
    worker.FETCHED = assigned.TOGETHER
    worker.BUFFERED = plan.get("buffered", worker.BUFFERED)
    consuming.MOST_HELD_BYTES = plan.get("held", consuming.MOST_HELD_BYTES)
    watch.LOOK_SECONDS = plan.get("look", watch.LOOK_SECONDS)
    watch.STUCK_SECONDS = plan.get("stuck", watch.STUCK_SECONDS)
    watch.GIVE_UP_SECONDS = plan.get("give_up", watch.GIVE_UP_SECONDS)
    following.AT_ONCE = plan.get("at_once", following.AT_ONCE)
    bulk.STEPS = plan.get("bulk", 3)
    _slow_down(plan.get("slow", 0.0))
    slow = Embedder(SlowEngine(plan["embedding"])) if "embedding" in plan else None
    if "unreadable" in plan:
        slow = Embedder(DownEngine(plan["unreadable"]))
    settings = worker.WorkerSettings(
        connection,
        topics,
        Path(plan["store"]),
        load_policy(plan.get("policy", "standard")),
        (lambda: slow) if slow is not None else EmbedderSource(load_stub),
        instance=plan["instance"],
        web_port=plan.get("web_port"),
        standby=plan.get("standby", False),
        session_seconds=plan.get("session", SESSION_SECONDS),
        effect=effect_of(plan),
    )
    log_to_standard_error()
    logging.getLogger("palimpsest.streams").setLevel(logging.DEBUG)
    try:
        worker.run(settings, log_level=None)
    except SystemExit as ended:
        return int(ended.code or 0)


class SlowEngine(StubEngine):
    """The stub, which takes `seconds` for each batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        time.sleep(self._seconds)
        return super().embed(texts)


class DownEngine(StubEngine):
    """The stub, which is down for texts with a certain word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        if any(self._word in text for text in texts):
            raise ServiceUnavailable("no vectors today")
        return super().embed(texts)


def _slow_down(seconds: float) -> None:
    """Make a rebuild wait before each batch."""
    taking = vars(replica)["take_over"]

    def slowly(*arguments: Any) -> None:
        time.sleep(seconds)
        taking(*arguments)

    vars(replica)["take_over"] = slowly


def _project(plan: Plan, connection: Connection, topics: Topics) -> int:
    logging.basicConfig(level=logging.INFO)
    following.AT_ONCE = plan.get("at_once", following.AT_ONCE)
    projector.BATCH_ROWS = projector.MOST_ROWS = plan.get("batch", projector.BATCH_ROWS)
    projector.IDLE_SECONDS = plan.get("idle", projector.IDLE_SECONDS)
    follower = Follower(Path(plan["store"]), connection, topics, effect=effect_of(plan))

    async def run_until_terminated() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await follower.run(stop)

    asyncio.run(run_until_terminated())
    return 0


def load() -> None:
    """Import what each worker would import when it starts."""
    for name in LATER:
        import_module(name)
    inspect.getmodule(inspect.currentframe())  # notes where all modules are, as Faust will ask


if __name__ == "__main__":
    load()
    main(live)
