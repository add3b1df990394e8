"""A second process that folds some of a log's owners, for a long rebuild or `verify`.

The child reads the log and writes no file, so it needs no lock, and an orphan does no harm. The
parent writes owners, one list per line, to its standard input, and reads their batches, pickled,
from its standard output. The child ends when its input ends, or when the parent dies. If the child
dies, the parent folds what the child was working on.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import orjson

from palimpsest.backends.projector_process import is_worth_while, start_child
from palimpsest.projections import sharing
from palimpsest.projections.batch import Batch, batches_of
from palimpsest.projections.sharing import Helper, Part

_log = logging.getLogger(__name__)


class FoldingProcess:
    """The child, as its parent sees it."""

    def __init__(self, log: Path, end: int) -> None:
        self.process = start_child(
            "palimpsest.backends.fold_process",
            str(log.absolute()),
            str(end),
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._ended = False

    def fold(self, owners: Part) -> list[Batch] | None:
        """The rows of these owners; None if the child has ended."""
        try:
            self._input.write(orjson.dumps(owners) + b"\n")
            self._input.flush()
            found: list[Batch] = pickle.load(self._output)  # noqa: S301 - our own child wrote it
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            if not self._ended:
                _log.warning("the process that folded beside this one has died: this one continues")
            return None
        return found

    def end(self) -> None:
        """Stop it, whatever it is doing."""
        self._ended = True
        self.process.kill()
        self.process.wait()
        with suppress(OSError), self._output, self._input:
            pass  # what was still to be written is no longer needed


def start_helper(log: Path, end: int) -> Helper | None:
    """Start a process that folds this log up to a position.

    None if it would not pay off, or cannot be started.
    """
    if end < sharing.MANY_EVENTS or not is_worth_while():
        return None
    try:
        return FoldingProcess(log, end)
    except OSError as error:
        _log.warning("no second process folds: %s", error)
        return None


def main(path: Path, end: int, words: BinaryIO, answers: BinaryIO) -> int:
    """Fold the owners of each line until the input ends."""
    from palimpsest.contracts.errors import PalimpsestError
    from palimpsest.streams.log.log import Log

    try:
        with Log.open(path, read_only=True) as log:
            for line in words:
                found = [*batches_of(log, orjson.loads(line), 0, end)]
                answers.write(pickle.dumps(found, protocol=5))
                answers.flush()
    except PalimpsestError:
        return 1  # the parent meets the same error, and reports it
    except BrokenPipeError:
        os._exit(1)  # the parent died; flushing the rest would fail, too
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer))
