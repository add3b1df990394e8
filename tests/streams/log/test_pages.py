"""Damaged roots and inner pages are found before anything is written; whole files never alarm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from palimpsest.streams.log.database import DamagedError
from palimpsest.streams.log.log import Log
from palimpsest.streams.log.pages import INNER, _File, check_pages

PAGE = 4096
EVENTS = 6_000

INSERT = "INSERT INTO events (position, owner_no, id, checksum, line) VALUES (?, ?, ?, ?, ?)"


def fill(log: Log, first: int, last: int) -> None:
    random = Random(first)
    with log.transaction():
        owners = [(f"owner {number}",) for number in range(first, last)]
        log.execute_many("INSERT INTO owners (owner_id) VALUES (?)", owners)
        rows = [(n, n, random.randbytes(16), 0, random.randbytes(900)) for n in range(first, last)]
        log.execute_many(INSERT, rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with trees of three levels, in one file."""
    path = tmp_path_factory.mktemp("log") / "log.sqlite"
    with Log.create(path) as log:
        fill(log, 1, EVENTS)
    return path


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "log.sqlite"))


def inner_pages(path: Path) -> Iterator[int]:
    content = path.read_bytes()
    for number in range(2, len(content) // PAGE + 1):
        if content[(number - 1) * PAGE] in INNER:
            yield number


def roots(path: Path) -> list[int]:
    with Log.open(path) as log:
        return [row[0] for row in log.rows("SELECT rootpage FROM sqlite_master WHERE rootpage > 0")]


def damaged(path: Path) -> bool:
    with Log.open(path) as log:
        try:
            check_pages(log)
        except DamagedError:
            return True
    return False


def overwrite(path: Path, number: int, page: bytes) -> None:
    with path.open("r+b") as file:
        file.seek((number - 1) * PAGE)
        file.write(page)


PAGES = {
    "zeros": bytes(PAGE),
    "ones": b"\xff" * PAGE,
    "noise": Random(1).randbytes(PAGE),
    "another beginning": b"x" * 16,
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_root_and_inner_page_that_is_overwritten_is_found(whole: Path, page: bytes) -> None:
    pages = sorted({*roots(whole), *inner_pages(whole)})
    assert len({*inner_pages(whole)}.difference(roots(whole))) > 1
    content = whole.read_bytes()
    for number in pages:
        overwrite(whole, number, page)
        assert damaged(whole), number
        overwrite(whole, number, content[(number - 1) * PAGE : number * PAGE])
    assert not damaged(whole)


def test_a_file_that_was_cut_is_found(copied: Path) -> None:
    last = max(inner_pages(copied))
    with copied.open("r+b") as file:
        file.truncate((last - 1) * PAGE)
    with pytest.raises(DamagedError), Log.open(copied) as log:
        check_pages(log)


def test_pages_are_read_from_the_write_ahead_log_if_they_are_newer_there(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with Log.create(path) as log:
        log.execute("PRAGMA wal_autocheckpoint=0")
        for first in range(1, EVENTS, 500):
            fill(log, first, first + 500)
            check_pages(log)
        with log.raw() as raw, _File(path, raw) as file:
            assert file.pages > EVENTS / 5
        assert path.stat().st_size < PAGE * 100
        log.execute("PRAGMA wal_checkpoint(PASSIVE)")
        fill(log, EVENTS + 500, EVENTS + 600)
        check_pages(log)


def test_a_transaction_that_is_not_committed_is_left_out(copied: Path) -> None:
    with Log.open(copied) as log, Log.open(copied) as other:
        other.execute("PRAGMA cache_size=1")
        other.execute("BEGIN IMMEDIATE")
        rows = [(n, n, os.urandom(16), 0, bytes(900)) for n in range(EVENTS, 2 * EVENTS)]
        other.execute_many(INSERT, rows)
        check_pages(log)
        other.execute("ROLLBACK")
        check_pages(log)


def test_a_log_whose_pages_were_read_keeps_its_locks(copied: Path) -> None:
    """Another process that closes it does not take its write-ahead log away."""
    look = f"""
from pathlib import Path
from palimpsest.streams.log.log import Log
with Log.open(Path({str(copied)!r})) as log:
    print(log.row("SELECT count(*) FROM owners")[0])
"""

    def counted_elsewhere() -> int:
        command = [sys.executable, "-c", look]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    with Log.create(copied) as log:
        check_pages(log)
        Log.create(copied).close()
        before = counted_elsewhere()
        fill(log, EVENTS + 1, EVENTS + 3)
        assert counted_elsewhere() == before + 2
    assert not opened_here(copied), "what was kept open is closed with the last connection"


def test_reading_the_pages_again_keeps_no_more_files_open(copied: Path) -> None:
    """A program may open a store again and again beside one that it keeps open."""
    opened = []
    with Log.create(copied) as log:
        for _ in range(3):
            with Log.create(copied) as other:
                check_pages(other)
                check_pages(log)
            opened.append(opened_here(copied))
        assert opened == [opened[0]] * 3
        with log.raw() as raw, log.raw() as at_once:
            assert raw.read(PAGE) == at_once.read(PAGE), "each reads from the beginning"
    assert not opened_here(copied)


def opened_here(path: Path) -> int:
    """How many descriptors of a file this process has."""
    folder = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
    wanted, found = path.stat(), 0
    for descriptor in [int(one.name) for one in folder.iterdir()]:
        with suppress(OSError):  # that of the listing is closed by now
            found += os.path.samestat(os.fstat(descriptor), wanted)
    return found
