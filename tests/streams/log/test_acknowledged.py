"""A log that lost what was acknowledged is refused: SQLite itself would open it as if whole."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palimpsest.contracts.errors import StoreError
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.log.acknowledged import ACKNOWLEDGED_FILE
from palimpsest.streams.log.log import Log
from tests.streams.log.test_log import refused

LOG, WAL = "log.sqlite", "log.sqlite-wal"


def append(log: Log, *numbers: int) -> None:
    for number in numbers:
        with log.transaction():
            log.append([refused(number)])


def opened(folder: Path, *, accept_loss: bool = False) -> int:
    """Open the log in a folder as a store does; return its head."""
    with Log.create(folder / LOG) as log:
        log.require_acknowledged(accept_loss=accept_loss)
        return log.head()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log with ten events that were copied into its file, and ten in its write-ahead log."""
    (tmp_path / "store").mkdir()
    with Log.create(tmp_path / "store" / LOG) as log:
        log.require_acknowledged()
        append(log, *range(10))
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        append(log, *range(10, 20))
        yield log


@pytest.fixture
def killed(log: Log, tmp_path: Path) -> Path:
    """What a process that is killed leaves: its files as they are at that moment."""
    return Path(shutil.copytree(log.path.parent, tmp_path / "killed"))


def delete_wal(folder: Path) -> None:
    (folder / WAL).unlink()


def cut_wal(folder: Path) -> None:
    wal = folder / WAL
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])


def put_back_older(folder: Path) -> None:
    (folder / WAL).unlink()
    (folder / LOG).unlink()
    with Log.create(folder / LOG) as older:
        append(older, *range(5))


def put_in_another(folder: Path) -> None:
    (folder / WAL).unlink()
    (folder / LOG).unlink()
    with Log.create(folder / LOG) as other:
        append(other, *range(100, 130))


LOSSES: list[Callable[[Path], None]] = [delete_wal, cut_wal, put_back_older, put_in_another]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_log_that_lost_events_is_refused_until_the_loss_is_accepted(
    killed: Path, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    lose(killed)
    for _ in range(2):
        with pytest.raises(StoreError, match="--accept-loss"):
            opened(killed)
    head = opened(killed, accept_loss=True)
    assert opened(killed) == head
    assert caplog.messages == []


def test_what_a_killed_process_left_is_whole(killed: Path) -> None:
    assert opened(killed) == 20


def test_a_log_may_have_more_than_was_acknowledged(killed: Path, log: Log) -> None:
    """Killed between a commit and its record: the caller was told of neither."""
    append(log, 20)
    for name in (LOG, WAL):
        shutil.copy(log.path.parent / name, killed / name)
    assert opened(killed) == 21


def test_a_lost_inbox_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with Log.create(tmp_path / "store" / LOG) as log:
        log.require_acknowledged()
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        Inbox(log).put("request", "inbox", b"{}")
        killed = Path(shutil.copytree(log.path.parent, tmp_path / "killed"))
    delete_wal(killed)
    with pytest.raises(StoreError, match="number 0 of 1"):
        opened(killed)


def test_other_processes_record_what_they_leave_in_the_inbox(log: Log) -> None:
    with Log.open(log.path) as other:
        other.require_acknowledged()
        Inbox(other).put("request", "inbox", b"{}")
    append(log, 20)
    recorded = (log.path.parent / ACKNOWLEDGED_FILE).read_bytes()
    assert b'"position":21' in recorded
    assert b'"inbox":1' in recorded


@pytest.mark.parametrize("content", [None, b"", b"\x00" * 128, b'{"position":1}'])
def test_a_log_without_a_readable_file_is_taken_as_it_is_and_says_so_once(
    killed: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = killed / ACKNOWLEDGED_FILE
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert opened(killed) == 20
        assert len(caplog.messages) == 1
        assert opened(killed) == 20
        assert len(caplog.messages) == 1
    (killed / LOG).unlink()
    with pytest.raises(StoreError, match="position 0 of 20"):
        opened(killed)


def test_a_new_log_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert opened(tmp_path) == 0
    assert caplog.messages == []


def test_a_transaction_that_failed_acknowledges_nothing(log: Log) -> None:
    before = (log.path.parent / ACKNOWLEDGED_FILE).read_bytes()
    with pytest.raises(sqlite3.IntegrityError):
        append(log, 19)
    assert (log.path.parent / ACKNOWLEDGED_FILE).read_bytes() == before


def test_the_file_is_its_users_alone(log: Log) -> None:
    assert (log.path.parent / ACKNOWLEDGED_FILE).stat().st_mode & 0o777 == 0o600
