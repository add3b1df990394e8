"""One process writes at a time, and its end, however it comes, lets the next one in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.embedded.lock import LOCK_FILE, WriterLock

ROOT = Path(__file__).parents[3]
HOLDING = """
import sys
from pathlib import Path
from palimpsest.streams.embedded.lock import WriterLock
with WriterLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_only_one_holds_it(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path), WriterLock(tmp_path)
    assert first.try_acquire()
    assert first.try_acquire()
    assert not second.try_acquire()
    assert (first.held, second.held) == (True, False)
    first.release()
    assert second.try_acquire()
    second.release()
    second.release()


def test_a_block_holds_it(tmp_path: Path) -> None:
    with WriterLock(tmp_path) as lock:
        assert lock.held
        with pytest.raises(TransientError, match="another process"), WriterLock(tmp_path):
            pass
    assert WriterLock(tmp_path).try_acquire()


def test_a_file_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("4711")
    assert WriterLock(tmp_path).try_acquire()


def test_the_locks_of_two_stores_are_two(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with WriterLock(tmp_path / "one") as one, WriterLock(tmp_path / "two") as two:
        assert one.held
        assert two.held


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=LOCK_FILE):
        WriterLock(tmp_path / "nowhere").try_acquire()


def test_a_killed_process_lets_it_go(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        lock = WriterLock(tmp_path)
        assert not lock.try_acquire()
        holder.kill()
        holder.wait()
        assert lock.try_acquire()
    lock.release()


def test_released_it_is_free_while_a_child_still_has_its_file(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    assert lock.try_acquire()
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, pass_fds=[lock.fileno()]) as child:
        assert not WriterLock(tmp_path).try_acquire()
        lock.release()
        with WriterLock(tmp_path) as other:
            assert other.held
            assert child.poll() is None, "it has the file, and ends when its input does"
