"""Processes that run the real command line, with the stub engine and small sizes, to be killed.

`python -m tests.cluster.child` reads plans, one JSON object a line, and forks a process for each:
what is costly is imported once. It tells `started PID` and `ended PID STATUS`, one a line.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import typer.main

from palimpsest.api import statements, store
from palimpsest.backends import reader, upkeep
from palimpsest.cli import main as cli
from palimpsest.cli.index import LISTED
from palimpsest.contracts import patterns
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.light import serializer
from palimpsest.jobs import questions as store_questions
from palimpsest.projections import projector
from palimpsest.projections.duckdb import compaction, queries
from palimpsest.projections.duckdb import store as duck
from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.live import LiveProjections
from palimpsest.streams.embedded import pipeline
from palimpsest.streams.embedded.session import WriterSession
from palimpsest.streams.judge import storage
from palimpsest.streams.write.handlers import bulk as bulk_requests
from tests.light import learn_views, lighten, write_views
from tests.stub_engine import load_stub

LATER = (
    *("importlib.readers", "lancedb.query", "numpy.ma", "onnxruntime", "pyarrow.parquet"),
    *("rich.table", "rich.tree", "typer._adapters", "typer._click.decorators"),
    *("palimpsest.cli.rendering", "palimpsest.cli.explaining", "palimpsest.settings.settings"),
    "palimpsest.streams.search.cosine.kernel_graphs",
)
"""What a command imports when it is carried out, beside its own module."""
COSTLY = {"verifier": "anthropic", "serve": "palimpsest.server_process.run"}
"""What few commands import."""
Plan = dict[str, Any]
"""`commands` with the `store` that they work on; `out`, the beginning of the files of answers.

`crash`: the name of an effect and its number, at which the process kills itself, by SIGKILL or
another `signal`. `record`: a file that gets the name of every effect. `window`: how many inputs are
decided on together, `batch`: how many rows are projected together, `bulk`: after how many steps a
bulk request commits. `grace`: for how many seconds merged segments stay. `stdin`: a file. `limit`:
the size in bytes that no file may pass. `env`: more of the environment. `request`: the id that
requests have, so that what is asked again is the same. `views`: whether it writes the store's own
file of views, as users have it (`tests.light`).
"""


def main(live: Callable[[Plan], int]) -> None:
    """Fork a process for each plan until standard input ends; `live` is what it does."""
    _prepare()
    running: set[int] = set()
    ready = selectors.DefaultSelector()
    plans = sys.stdin.buffer.fileno()
    ready.register(plans, selectors.EVENT_READ)
    ready.register(ends := _ends_of_children(), selectors.EVENT_READ)
    waiting = b""
    while True:
        readable = {key.fileobj for key, _ in ready.select()}
        if plans in readable:
            read = os.read(plans, 1 << 16)
            if not read:
                break
            *whole, waiting = (waiting + read).split(b"\n")
            for plan in whole:
                running.add(_started(json.loads(plan), live))
        if ends in readable:
            ends.recv(1 << 16)
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.discard(pid)
                _print(f"ended {pid} {os.waitstatus_to_exitcode(status)}")
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _ends_of_children() -> socket.socket:
    """A socket that is readable when a child has ended; polling would take processor time."""
    readable, written = socket.socketpair()
    written.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(written.detach(), warn_on_full_buffer=False)
    return readable


def _prepare() -> None:
    """What each child would do anew, and nothing in it differs."""
    lighten()
    learn_views()
    for module in (*LATER, *(f"palimpsest.cli.commands.{one.module}" for one in LISTED.values())):
        import_module(module)
    for kind in get_args(AnyEvent):
        serializer(kind)
    for pattern in [one for one in gc.get_objects() if isinstance(one, patterns._Pattern)]:
        assert pattern.search  # compiles it
    warnings.filterwarnings("ignore", message="lancedb fork support")
    typer.main.get_command(cli.app)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _started(plan: Plan, live: Callable[[Plan], int]) -> int:
    for word, module in COSTLY.items():
        if any(word in words for words in plan["commands"]):
            import_module(module)  # seconds, once, for it and all after it
    for words in plan["commands"]:
        vars(typer.main.get_command(cli.app))["commands"].get(words[0])  # builds it
    pid = os.fork()
    if pid:
        _print(f"started {pid}")
        return pid
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 70
    try:
        status = live(plan)
    except Exception:  # noqa: BLE001 - it is told where the child was to write, and by its status
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def live(plan: Plan) -> int:
    """Be one process: its commands one after the other, and the exit status of the last."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    take(0, plan.get("stdin") or os.devnull, os.O_RDONLY)
    _shrink(
        plan.get("window", 16), plan.get("batch", 1), plan.get("bulk", 3), plan.get("grace", 0.0)
    )
    vars(store)["load_engine"] = load_stub
    if plan.get("views"):
        vars(queries)["_write_views"] = write_views
    vars(os)["nice"] = lambda _: 0  # a verifier gives way to a stream, not to other tests
    os.environ.update(plan.get("env", {}))
    effect = effect_of(plan)
    vars(reader)["WriterSession"] = partial(WriterSession, effect=effect)
    vars(upkeep)["LiveProjections"] = partial(LiveProjections, effect=effect)
    _watch_the_judge(effect)
    if "limit" in plan:
        _limit(plan["limit"])
    if "request" in plan:
        assert "request_id" in vars(statements)
        vars(statements)["request_id"] = lambda: plan["request"]
    status = 0
    for number, command in enumerate(plan["commands"]):
        out = f"{plan['out']}.{number}"
        for stream in (1, 2):
            take(stream, f"{out}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        status = _run(["--store", plan["store"], *command])
        sys.stdout.flush()
        sys.stderr.flush()
        Path(f"{out}.status").write_text(str(status))
    return status


def _watch_the_judge(effect: Any) -> None:
    """Make a verifier's steps effects: an answer arrives, is remembered, is delivered."""
    _before(storage.VerdictCache, "put", lambda: effect("judge:asked"))
    _after(storage.VerdictCache, "put", lambda: effect("judge:remembered"))
    _before(store_questions.TableReading, "deliver", lambda: effect("verifier:brings"))


def _before(kind: type, name: str, told: Callable[[], object]) -> None:
    method = getattr(kind, name)
    setattr(kind, name, lambda *arguments: (told(), method(*arguments))[1])


def _after(kind: type, name: str, told: Callable[[], object]) -> None:
    method = getattr(kind, name)
    setattr(kind, name, lambda *arguments: (method(*arguments), told())[0])


def take(stream: int, path: str, flags: int) -> None:
    """Make a standard stream a file."""
    opened = os.open(path, flags, 0o666)
    os.dup2(opened, stream)
    os.close(opened)


def _run(arguments: list[str]) -> int:
    sys.argv = ["palimpsest", *arguments]
    try:
        cli.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _shrink(window: int, batch: int, bulk: int, grace: float) -> None:
    """Small sizes, so that few rows make many commits, segments and compactions."""
    pipeline.WINDOW = window
    bulk_requests.STEPS = bulk
    projector.BATCH_ROWS = projector.MOST_ROWS = batch
    compaction.FEWEST, compaction.MOST = 4, 8
    vars(duck)["GRACE_SECONDS"] = grace
    lance.FRAGMENTED = 4
    lance.INDEXED_FROM = 10


def effect_of(plan: Plan) -> Any:
    """Records the names of effects, and kills the process at the one that the plan names."""
    seen: Counter[str] = Counter()
    name, number = plan.get("crash") or ("", 0)
    record = plan.get("record")

    def effect(what: str) -> None:
        seen[what] += 1
        if record is not None:
            with Path(record).open("a") as file:
                file.write(what + "\n")
        if what == name and seen[what] == number:
            os.kill(os.getpid(), plan.get("signal", signal.SIGKILL))

    return effect


def _limit(size: int) -> None:
    import resource

    sys.dont_write_bytecode = True  # a compiled module would be cut off, too, and stay so
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
