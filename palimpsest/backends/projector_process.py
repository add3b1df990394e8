"""A second process that projects while this one decides, for an import that is CPU-bound.

The child inherits the file of the parent's writer lock, so the lock is held until both have ended.
The child follows the log and writes the projections; meanwhile the parent writes none. The child's
standard input is the whole protocol: after `FINISH` it projects the rest and ends. If the input
ends without it, the parent has died, and the child ends at once; the next process repairs its
projections, as after any kill. If the child dies, the parent projects by itself again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedder.load import usable_cores

FINISH = b"finish"
SECONDS = 0.25
"""Interval between checks for new events: with 1 s, projecting would cost a fifth less, but more
would be left to project at the end."""


def start_child(
    module: str, *words: str, stdout: int, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start one of our modules as a child that reads its standard input from this process.

    `multiprocessing` is not used: a process that it spawns imports the program's main module again.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *words],
        stdin=subprocess.PIPE,
        stdout=stdout,
        env=os.environ | {"PYTHONPATH": paths},
        pass_fds=pass_fds,
        start_new_session=True,  # Ctrl-C reaches only the parent
    )


class ProjectorProcess:
    """The child, as its parent sees it."""

    def __init__(self, store: Path, lock: WriterLock) -> None:
        self.process = start_child(
            "palimpsest.backends.projector_process",
            str(store.absolute()),
            stdout=subprocess.DEVNULL,
            pass_fds=[lock.fileno()],
        )

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self.process.poll() is None

    def finish(self) -> None:
        """Let it project the rest, and return when it has ended, for whatever reason.

        An interrupt kills it.
        """
        assert self.process.stdin is not None
        try:
            with suppress(BrokenPipeError), self.process.stdin as words:
                words.write(FINISH)
            self.process.wait()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise


def is_worth_while() -> bool:
    """Whether a second process can run beside this one."""
    return bool(sys.executable) and usable_cores() > 1


def main(store: Path) -> int:
    """Follow a store's log until told to finish, or until the parent dies."""
    finishing = threading.Event()
    threading.Thread(target=_listen, args=(finishing,), daemon=True).start()
    from palimpsest.contracts.errors import PalimpsestError
    from palimpsest.projections.projector import Projector
    from palimpsest.streams.log.log import Log

    try:
        with Log.open(store / LOG_FILE, read_only=True) as log:
            projector = Projector(store / PROJECTIONS_FOLDER, log)
            while not finishing.wait(SECONDS):
                projector.catch_up()
            projector.catch_up()
    except PalimpsestError:
        return 1  # the parent meets the same error, and reports it
    return 0


def _listen(finishing: threading.Event) -> None:
    if os.read(0, len(FINISH)) != FINISH:
        os._exit(1)
    finishing.set()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
