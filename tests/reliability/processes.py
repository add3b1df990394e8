"""Children from the test's side: started by a plan, waited for, killed; and what a store holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.contracts.events import Decided, Invalid, Redecided
from palimpsest.contracts.light import to_json
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from tests.streams.write.runtime import memories

PATIENCE = 100.0
"""Seconds after which a child is held to hang: the test fails then, whatever it tested."""
FORGE = (sys.executable, "-m", "tests.cluster.child")
"""The program that starts children."""


class Forge:
    """Starts children; one for a whole test session."""

    def __init__(self, folder: Path, program: Sequence[str] = FORGE) -> None:
        self._folder = folder
        self._count = 0
        self._ended: dict[int, int] = {}
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=os.environ | {"PYTHONPATH": paths},
            text=True,
        )

    def start(self, store: Path, *commands: list[str], **plan: Any) -> Child:
        """Start a process that carries out commands one after the other."""
        self._count += 1
        out = self._folder / f"child-{self._count}"
        told = {"store": str(store), "commands": commands, "out": str(out), **plan}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told, default=str) + "\n")
        self._process.stdin.flush()
        word, pid = self._line().split()
        while word != "started":
            word, pid = self._line().split()
        self._ended.pop(int(pid), None)  # of an earlier child: systems use their ids again
        return Child(self, int(pid), out, len(commands))

    def run(self, store: Path, *commands: list[str], **plan: Any) -> Child:
        """Start a process and wait until it ends."""
        child = self.start(store, *commands, **plan)
        child.wait()
        return child

    def _line(self) -> str:
        """The next `started` line; ends are noted on the way."""
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, "the forge has died"
            if not line.startswith("ended"):
                return line
            _, pid, status = line.split()
            self._ended[int(pid)] = int(status)

    def status_of(self, pid: int) -> int:
        """Wait for the end of a child; negative is the signal that ended it."""
        assert self._process.stdout is not None
        while pid not in self._ended:
            _, ended, status = self._process.stdout.readline().split()
            self._ended[int(ended)] = int(status)
        return self._ended[pid]

    def close(self) -> None:
        """End it with all its children."""
        self._process.communicate(timeout=PATIENCE)


@dataclass
class Child:
    """A process that was started."""

    forge: Forge
    pid: int
    out: Path
    commands: int
    status: int | None = field(default=None)

    def has_ended(self) -> bool:
        """Whether it runs no more; a forge's child is gone then."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def wait(self) -> int:
        """Its exit status; negative is the signal that ended it."""
        if self.status is None:
            self.status = self.forge.status_of(self.pid)
        return self.status

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal; nothing if it has ended already: its id may be another's now."""
        if self.status is not None:
            return
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def statuses(self) -> list[int]:
        """The exit status of each command that ended."""
        files = (Path(f"{self.out}.{n}.status") for n in range(self.commands))
        return [int(file.read_text()) for file in files if file.exists()]

    def answer(self, number: int = -1) -> Any:
        """What a command printed, as JSON."""
        return json.loads(self.printed(number))

    def printed(self, number: int = -1, stream: int = 1) -> str:
        """What a command printed to standard output (1) or error (2)."""
        return Path(f"{self.out}.{number % self.commands}.{stream}").read_text()


def outcome(store: Path) -> dict[str, Any]:
    """What an input led to: ids, decisions, joins, faces, dead letters; no times, causes, order."""
    with Log.open(store / "log.sqlite") as log:
        events = [recorded.event for recorded in log.after(0, 10**6)]
        decided = [event for event in events if isinstance(event, Decided | Invalid)]
        redecided = [event.data for event in events if isinstance(event, Redecided)]
        assert len({event.id for event in events}) == len(events)
        return {
            "decided": [to_json(event) | {"time": None} for event in decided],
            "redecided": [to_json(data) | {"cause": None} for data in redecided],
            "memories": memories(log),
            "letters": [(letter.id, letter.reason) for letter in DeadLetters(log).all()],
        }


def until(what: Any, patience: float = PATIENCE) -> Any:
    """Wait until a call returns something true, and return that."""
    last = time.monotonic() + patience
    while time.monotonic() < last:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")
