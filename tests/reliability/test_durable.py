"""A call that writes returns when it cannot be lost; the projections follow aside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import orjson
import pytest

from palimpsest import Palimpsest, StoreError, TransientError, UsageError
from palimpsest.projections.duckdb.segments import listed
from palimpsest.streams.embedded.lock import WriterLock
from tests.long import long_but
from tests.reliability.rows import rows
from tests.reliability.test_sessions import opened, with_effect

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0


class Gate:
    """Stops the projector's thread before it writes a segment, until it is opened."""

    def __init__(self) -> None:
        self._open = Event()
        self.reached = Event()

    def __call__(self, name: str) -> None:
        if name == "segment:written" and current_thread().name == "projector":
            self.reached.set()
            assert self._open.wait(PATIENCE)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Every store that is opened in this test projects nothing until the gate is opened."""
    made = Gate()
    with_effect(monkeypatch, made)
    yield made
    made.open()


def eventually(holds: Callable[[], bool]) -> bool:
    last = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > last:
            return False
        time.sleep(0.01)
    return True


def is_free(folder: Path) -> bool:
    lock = WriterLock(folder)
    try:
        return lock.try_acquire()
    finally:
        lock.release()


def test_a_call_returns_before_the_projections_have_it(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path / "store") as store:
        [outcome] = store.submit(rows(1))
        assert outcome.decision == "stored"
        assert store.position == 2
        assert store.reader.positions() == {"lancedb": 0, "duckdb": 0}
        assert not is_free(store.folder)
        gate.open()
        assert eventually(partial(is_free, store.folder))
        assert store.reader.positions() == {"lancedb": 2, "duckdb": 2}


def test_what_a_store_wrote_its_own_calls_see(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path / "store") as store:
        [outcome] = store.submit(rows(1))
        owner = store.show(str(outcome.memory_id))["owner_id"]
        assert len(store.recall(owner, "Ada")) == 1
        Thread(target=gate.open).start()
        assert store.sql("SELECT count(*) AS n FROM memories") == [{"n": 1}]


def test_calls_that_come_fast_are_projected_together(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path / "store") as store:
        for count in range(1, 4):
            store.submit(rows(count))
        assert gate.reached.wait(PATIENCE)
        for count in range(4, 12):
            store.submit(rows(count))
        gate.open()
        store.status()
        assert len(listed(store.reader.projections)) <= 3  # an empty one, the first, all others
        assert store.verify()["differences"] == 0


def test_visible_means_visible_to_others_when_the_call_returns(tmp_path: Path) -> None:
    with opened(tmp_path / "store", wait="visible") as store:
        store.submit(rows(3))
        assert is_free(store.folder)
        assert set(store.reader.positions().values()) == {store.position}


def test_another_reader_waits_for_a_position(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path / "store") as store, opened(tmp_path / "store") as other:
        store.submit(rows(3))
        with pytest.raises(TransientError):
            other.wait_for(store.position, timeout=0.1)
        with pytest.raises(UsageError, match="ends at position"):
            other.wait_for(store.position + 1)
        gate.open()
        other.wait_for(store.position)
        assert other.sql("SELECT count(*) AS n FROM candidates") == [{"n": 3}]


def full(disk: list[str]) -> Callable[[str], None]:
    """A disk without space for segments while anything is in `disk`."""

    def effect(name: str) -> None:
        if name == "segment:written" and disk:
            raise OSError(28, "No space left on device")

    return effect


def failing(disk: list[str]) -> Callable[[str], None]:
    """A disk that fails once at each effect that is in `disk`."""

    def effect(name: str) -> None:
        if name in disk:
            disk.remove(name)
            raise OSError(28, "No space left on device")

    return effect


def test_what_could_not_be_projected_is_repaired_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk: list[str] = []
    with_effect(monkeypatch, full(disk))
    with opened(tmp_path / "store") as store:
        store.submit(rows(1))
        store.status()
        disk.append("full")
        assert store.submit(rows(2))[1].decision == "stored"
        assert eventually(partial(is_free, store.folder))
        with pytest.raises(StoreError, match="the disk is full"):
            store.status()
        with pytest.raises(StoreError, match="the disk is full"):
            store.submit(rows(3))
        assert store.position == 3
        disk.clear()
        store.submit(rows(3))
        assert store.status()["candidates"] == 3
        assert "projections repaired from the log" in caplog.text
        assert store.verify()["differences"] == 0


@pytest.mark.parametrize("released", [False, True])
def test_a_disk_that_is_mended_by_the_next_call_troubles_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: bool
) -> None:
    disk: list[str] = []
    with_effect(monkeypatch, failing(disk))
    with opened(tmp_path / "store") as store:
        store.status()
        disk.append("segment:written")
        store.submit(rows(2))
        if released:
            assert eventually(lambda: not disk and is_free(store.folder))
        assert store.status()["candidates"] == 2
        assert store.verify()["differences"] == 0


def test_a_release_that_comes_late_does_not_end_a_later_call(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path / "store") as store:
        store.submit(rows(1))
        store.reader.upkeep._release()  # as of a call before, on the projector's thread
        assert not is_free(store.folder)
        gate.open()


def test_a_call_within_a_call_keeps_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\n".join(orjson.dumps(row) for row in rows(500)))
    free: list[bool] = []

    def look(_: object) -> None:
        store.status()
        free.append(is_free(store.folder))

    with opened(tmp_path / "store") as store:
        store.ingest(file, progress=look)
        assert free
        assert not any(free)
        assert store.verify()["differences"] == 0


SUBMITTING = """
import os, sys
from pathlib import Path
from palimpsest.process.import_shims import lighten_lancedb
lighten_lancedb()  # half of its start
from tests.reliability.test_sessions import opened, with_effect
from tests.reliability.rows import rows
store = opened(Path(sys.argv[1]))
store.submit(rows(5))
print(store.position, flush=True)
exec(sys.argv[2])
"""


def ran(folder: Path, then: str) -> subprocess.CompletedProcess[str]:
    """A process that writes to a store, and does not close it."""
    command = [sys.executable, "-c", SUBMITTING, str(folder), then]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )


def positions(folder: Path) -> dict[str, int]:
    """How far projections are, as they lie there."""
    with opened(folder) as store:
        return store.reader.positions()


@pytest.mark.parametrize("then", long_but("1 / 0", of=["", "sys.exit(0)", "1 / 0"]))
def test_a_process_that_ends_projects_what_it_wrote(tmp_path: Path, then: str) -> None:
    done = ran(tmp_path / "store", then)
    assert set(positions(tmp_path / "store").values()) == {int(done.stdout)}


KILLED = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize("then", long_but(KILLED, of=["os._exit(0)", KILLED]))
def test_after_a_process_that_was_killed_a_reader_projects_the_rest(
    tmp_path: Path, then: str
) -> None:
    done = ran(tmp_path / "store", then)
    with opened(tmp_path / "store") as store:
        assert store.position == int(done.stdout)
        assert store.status()["candidates"] == 5
        assert store.verify()["differences"] == 0


def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(
    tmp_path: Path, gate: Gate
) -> None:
    with opened(tmp_path / "store") as store:
        store.submit(rows(1))
        child = os.fork()
        if not child:
            time.sleep(PATIENCE)
            os._exit(0)
        try:
            gate.open()
            assert eventually(partial(is_free, store.folder))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_a_child_that_was_forked_meanwhile_finishes_nothing_at_its_end(tmp_path: Path) -> None:
    forking = (
        "child = os.fork()\n"
        "if child: os.waitpid(child, 0); print('ended', flush=True)\n"
        "else: sys.exit(0)"
    )
    done = ran(tmp_path / "store", forking)
    assert done.stdout.split()[-1] == "ended"
    with Palimpsest.open(tmp_path / "store") as store:
        found: Any = store.verify()
        assert found["differences"] == 0
