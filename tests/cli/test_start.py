"""A process can be told to end as soon as it runs: its exit status says what that means."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STARTED = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Told(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "palimpsest.cli":
            os.kill(os.getpid(), int(sys.argv.pop()))

sys.meta_path.insert(0, Told())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from palimpsest.start import main
main()
"""
"""Is told to end while modules are imported, by the signal that is the last word."""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["worker"], 0),
        (["verifier", "--once"], 0),
        (["--store", "recall", "project"], 0),
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
