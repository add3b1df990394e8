"""Whatever goes wrong where a judge is opened, its file is let go of."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.streams.judge import judge
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import FILE, connect

OPEN: set[int] = set()


class Counted(sqlite3.Connection):
    """A connection that is counted until it is closed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        OPEN.add(id(self))

    def close(self) -> None:
        OPEN.discard(id(self))
        super().close()


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counted))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    OPEN.clear()


def beside(folder: Path) -> Judge:
    return Judge.beside(folder, Rules(), JudgeSettings(), lambda: datetime.now(UTC))


async def entered(one: Judge) -> None:
    async with one:
        raise AssertionError("it has no key")


def test_who_has_no_key_leaves_nothing_open(tmp_path: Path) -> None:
    one = beside(tmp_path)
    assert len(OPEN) == 2
    with pytest.raises(UsageError):
        asyncio.run(entered(one))
    assert not OPEN


def test_a_file_of_another_kind_is_let_go_of(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(StoreError):
        beside(tmp_path)
    assert not OPEN


def test_answers_are_let_go_of_where_the_budget_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise StoreError("the disk is away")

    monkeypatch.setattr(judge, "Budget", broken)
    with pytest.raises(StoreError, match="away"):
        beside(tmp_path)
    assert not OPEN


def test_only_its_user_can_read_a_new_file(tmp_path: Path) -> None:
    """It has answers about memories: what the model said of them, and texts that it composed."""
    before = os.umask(0)
    try:
        with closing(connect(tmp_path / FILE)):
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys((FILE, f"{FILE}-wal", f"{FILE}-shm"), 0o600)


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    connect(tmp_path / FILE).close()
    (tmp_path / FILE).chmod(0o640)
    connect(tmp_path / FILE).close()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o640
