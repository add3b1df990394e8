"""A long rebuild folds in two processes; whichever is killed, the projections are right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.backends import fold_process as folding_process
from palimpsest.backends import projector_process as projecting
from palimpsest.backends.fold_process import FoldingProcess
from palimpsest.projections import sharing
from palimpsest.projections.batch import Batch
from palimpsest.projections.duckdb.segments import listed
from palimpsest.projections.sharing import Part
from palimpsest.streams.log.log import Log
from tests.docs.pages import ROOT
from tests.stub_engine import load_stub

OWNERS = 12
PATIENCE = 60.0


class Watched(FoldingProcess):
    """Remembers the children and what they handed over; the first part is theirs."""

    def __init__(self, log: Path, end: int) -> None:
        self.handed_over: list[Batch] = []
        children.append(self)
        super().__init__(log, end)

    def fold(self, owners: Part) -> list[Batch] | None:
        found = super().fold(owners)
        self.handed_over += found or []
        return found


children: list[Watched] = []


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts a few events as many."""
    children.clear()
    monkeypatch.setattr(sharing, "MANY_EVENTS", 10)
    monkeypatch.setattr(sharing, "EVENTS_AT_ONCE", 10)
    monkeypatch.setattr(projecting, "usable_cores", lambda: 2)
    monkeypatch.setattr(store, "load_engine", load_stub)
    monkeypatch.setattr(folding_process, "FoldingProcess", Watched)


@pytest.fixture(name="folder")
def filled(tmp_path: Path) -> Path:
    """A store with joins and exact repeats."""
    rows = [
        {"owner_id": f"owner {n % OWNERS}", "text": f"Note {n // OWNERS % 9} of many words"}
        for n in range(OWNERS * 12)
    ]
    with Palimpsest.open(tmp_path / "store") as opened:
        opened.submit(rows)
    return tmp_path / "store"


def wait_for_the_child(what: str, share: float) -> None:
    """The progress of a rebuild: this process continues only when the child has folded, too."""
    deadline = time.monotonic() + PATIENCE
    while children and not children[0].handed_over and children[0].process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def rebuilt(folder: Path, progress: Any = wait_for_the_child) -> dict[str, Any]:
    with Palimpsest.open(folder, create=False) as opened:
        return opened.rebuild(progress=progress)


def differences(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """By one process."""
    monkeypatch.setattr(projecting, "usable_cores", lambda: 1)
    with Palimpsest.open(folder, create=False) as opened:
        return opened.verify()["differences"]


def test_two_processes_make_the_rows_that_one_makes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rebuilt(folder)
    [child] = children
    assert child.handed_over
    assert child.process.returncode is not None
    assert all(one["differences"] == 0 and one["rows"] for one in found.values())
    assert differences(folder, monkeypatch) == 0
    assert rebuilt(folder) == found
    assert len(children) == 1


def test_verify_folds_in_two_processes(folder: Path) -> None:
    with Palimpsest.open(folder, create=False) as opened:
        found = opened.verify(progress=wait_for_the_child)
    assert found["differences"] == 0
    assert children[0].handed_over


def test_one_process_folds_a_short_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MANY_EVENTS", 1_000)
    rebuilt(folder)
    assert not children


def test_progress_never_goes_back(folder: Path) -> None:
    shares: list[float] = []

    def note(what: str, share: float) -> None:
        wait_for_the_child(what, share)
        if what == "folding the log":
            shares.append(share)

    rebuilt(folder, note)
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert shares[-1] == 1.0


def test_if_the_child_is_killed_the_parent_folds_the_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def kill(what: str, share: float) -> None:
        wait_for_the_child(what, share)
        children[0].process.kill()

    found = rebuilt(folder, kill)
    assert "has died" in caplog.text
    assert all(one["differences"] == 0 for one in found.values())
    assert differences(folder, monkeypatch) == 0


def test_if_the_child_never_starts_the_parent_folds_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", str(folder / "none"))
    assert rebuilt(folder, None)["duckdb"]["differences"] == 0
    assert "no second process folds" in caplog.text


def test_an_interrupt_ends_the_child_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listed(folder / "projections")

    def interrupt(what: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuilt(folder, interrupt)
    assert children[0].process.returncode is not None
    assert listed(folder / "projections") == before
    assert differences(folder, monkeypatch) == 0


def test_what_is_wrong_with_the_log_is_raised_and_changes_nothing(folder: Path) -> None:
    before = listed(folder / "projections")
    with Log.open(folder / "log.sqlite") as log, log.transaction():
        log.execute("UPDATE events SET checksum = 1 WHERE position = 40")
    with pytest.raises(Exception, match="position 40 is damaged"):
        rebuilt(folder)
    assert children[0].process.returncode is not None
    assert listed(folder / "projections") == before


PARENT = """
import sys, time
from palimpsest import Palimpsest
from palimpsest.backends import fold_process as folding_process
from palimpsest.backends import projector_process as projecting
from palimpsest.projections import sharing
sharing.MANY_EVENTS = sharing.EVENTS_AT_ONCE = 10
projecting.usable_cores = lambda: 2
class Told(folding_process.FoldingProcess):
    def fold(self, owners):
        found = super().fold(owners)
        print(self.process.pid, flush=True)
        time.sleep(600)
folding_process.FoldingProcess = Told
with Palimpsest.open(sys.argv[1], create=False) as opened:
    opened.rebuild()
"""


def test_if_the_parent_is_killed_the_child_ends_and_nothing_is_half_swapped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", PARENT, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + PATIENCE
    while _runs(child):
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.05)
    assert differences(folder, monkeypatch) == 0


def _runs(process: int) -> bool:
    try:
        os.kill(process, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
