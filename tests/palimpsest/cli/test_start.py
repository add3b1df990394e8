"""A process can be ended as soon as it runs, with the documented exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest.process import signals as interrupts

FULL = Path("/dev/full")

STARTED = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Told(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "palimpsest.cli.main":
            os.kill(os.getpid(), int(sys.argv.pop()))

sys.meta_path.insert(0, Told())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from palimpsest.cli.start import main
main()
"""
"""A program that gets the signal in its last argument while modules are imported."""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["worker"], 0),
        (["verifier", "--once"], 0),
        (["--store", "recall", "project"], 0),
        (["--model", "multilingual-e5-small", "serve"], 0),
        (["--store", "project", "recall", "worker", "x"], 130),
    ],
    ids=str,
)
@pytest.mark.parametrize("number", ["2", "15"])
def test_stopped_while_modules_are_imported(words: list[str], status: int, number: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTED, *words, number],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


ENDED = """
import atexit, os, sys
from palimpsest.cli import start

class Ending:
    def __call__(self):
        os.write(2, b"handlers ran")

def run():
    atexit.register(Ending())
    exec(sys.argv.pop())

command_line = type(sys)("palimpsest.cli.main")
command_line.main = run
sys.modules["palimpsest.cli.main"] = sys.modules["palimpsest.cli"].main = command_line
start.main()
"""
"""A command line that does what its last argument says, with something waiting for its end."""


def ended(what: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    """Run `what` as the command line, with output buffered as for users."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"PYTHONPATH": paths}
    environment.pop("PYTHONUNBUFFERED", None)
    return subprocess.run(
        [sys.executable, "-c", ENDED, what],
        env=environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("what", "status"), [("sys.exit()", 0), ("sys.exit(0)", 0), ("sys.exit(3)", 3)]
)
def test_a_command_ends_with_its_status_all_its_output_and_the_handlers_of_the_exit(
    what: str, status: int
) -> None:
    done = ended(f"print('x' * 100_000, end=''); {what}")
    assert (done.returncode, done.stderr, len(done.stdout)) == (status, b"handlers ran", 100_000)


def test_a_bug_is_reported_by_the_interpreter() -> None:
    done = ended("print('so far'); 1 / 0")
    assert (done.returncode, done.stdout) == (1, b"so far\n")
    assert b"ZeroDivisionError" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with FULL.open("wb") as full:
        done = ended("print('lost'); sys.exit(0)", full.fileno())
    assert done.returncode == 120  # as Python ends a process whose last output cannot be written
    assert b"No space left on device" in done.stderr


def test_a_process_without_an_output_ends_with_its_status() -> None:
    done = ended("sys.stdout = sys.stderr = None; sys.exit(3)")
    assert (done.returncode, done.stderr) == (3, b"handlers ran")


def test_what_is_in_memory_is_not_freed_one_by_one() -> None:
    kept = "sys.kept = type('Kept', (), {'__del__': lambda _, w=os.write: w(2, b'freed')})()"
    assert ended(f"{kept}; sys.exit(0)").stderr == b"handlers ran"
    assert ended(kept).stderr == b"handlers ranfreed"  # no status: the interpreter ends the process


@pytest.mark.parametrize(
    ("command", "handler", "interrupts_it"),
    [
        ("status", interrupts._end, True),
        (None, interrupts._end, True),
        ("serve", interrupts._end, False),
        ("status", signal.default_int_handler, False),
    ],
)
def test_what_ends_by_itself_is_interrupted_and_what_runs_on_is_stopped(
    command: str | None, handler: object, interrupts_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program's own handlers are left alone."""
    given: list[object] = []
    monkeypatch.setattr(interrupts, "_announces", False)
    monkeypatch.setattr(signal, "getsignal", lambda _: handler)
    monkeypatch.setattr(signal, "signal", lambda _, new: given.append(new))
    interrupts.interrupt_on_signals(command)
    assert given == [signal.default_int_handler] * (len(interrupts.SIGNALS) * interrupts_it)
    assert interrupts._announces is interrupts_it


@pytest.mark.parametrize(("handler", "handled"), [(signal.SIG_DFL, 1), (signal.SIG_IGN, 0)])
def test_a_signal_that_is_ignored_stays_so(
    handler: object, handled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under `nohup`."""
    given: list[object] = []
    monkeypatch.setattr(signal, "getsignal", lambda _: handler)
    monkeypatch.setattr(signal, "signal", lambda _, new: given.append(new))
    interrupts.end_on_signals()
    assert given == [interrupts._end] * (len(interrupts.SIGNALS) * handled)


@pytest.mark.parametrize(("before", "stops"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_hang_up_stops_a_long_running_process_unless_it_was_started_by_nohup(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers, stops: bool
) -> None:
    async def hang_up() -> bool:
        stop = interrupts.stop_event()
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.1)
        return stop.is_set()

    monkeypatch.setattr(interrupts, "end_in_time", lambda _: None)
    was = signal.signal(signal.SIGHUP, before)
    try:
        assert asyncio.run(hang_up()) is stops
    finally:
        signal.signal(signal.SIGHUP, was)


def test_little_is_imported_before_an_interrupt_is_handled() -> None:
    """Until then Python prints a traceback. Its own start, and what the installed script imports
    (`re`), are left out."""
    look = (
        "import re, sys; before = {*sys.modules}; import palimpsest.cli.start;"
        " print(*sorted({*sys.modules} - before))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", look]
    said = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    imported = {*said.stdout.split()}
    assert imported.isdisjoint({"logging", "typing", "dataclasses", "pathlib", "asyncio"})
    assert {name for name in imported if name.startswith("palimpsest")} == {
        "palimpsest",
        "palimpsest.cli",
        "palimpsest.cli.start",
        "palimpsest.process",
        "palimpsest.process.signals",
        "palimpsest.streams",
        "palimpsest.streams.ending",
    }
