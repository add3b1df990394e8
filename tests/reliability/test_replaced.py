"""A store whose folder is moved, deleted or replaced while it is open: no write is acknowledged,
and no answer is from the old file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from palimpsest import Palimpsest, StoreError
from palimpsest.api import store as api
from palimpsest.streams.log import database
from tests.stub_engine import load_stub

BEFORE = {"owner_id": "ada", "text": "Ada lives in Oslo."}
AFTER = {"owner_id": "ada", "text": "Ada has a big dog."}
OTHER = {"owner_id": "bob", "text": "Bob plays chess."}


def move(store: Path) -> None:
    store.rename(store.with_name("elsewhere"))


def delete_log(store: Path) -> None:
    (store / "log.sqlite").unlink()


def replace(store: Path) -> None:
    """Put another store in its place, as somebody does who restores a copy."""
    shutil.rmtree(store)
    shutil.copytree(store.with_name("other"), store)


@pytest.mark.parametrize("change", [move, delete_log, replace])
def test_a_store_that_is_not_in_its_place_takes_no_write_and_answers_nothing(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_engine", load_stub)
    store, other = tmp_path / "store", tmp_path / "other"
    with Palimpsest.open(other, wait="visible") as second:
        second.submit([OTHER, OTHER | {"text": "Bob plays go."}])
    with Palimpsest.open(store, wait="visible") as memories:
        memories.submit(BEFORE)
        change(store)
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            memories.submit(AFTER)
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            memories.verify()
        for read in (
            lambda: memories.recall("ada", "Where does Ada live?"),
            lambda: memories.list("ada"),
            lambda: memories.find("ada", "Oslo"),
            lambda: memories.sql("FROM memories"),
        ):
            with pytest.raises(StoreError, match="moved, deleted or replaced"):
                read()
    if change is replace:
        with Palimpsest.open(store) as memories:
            assert memories.verify()["differences"] == 0
            assert [one["face"] for one in memories.list("ada")["memories"]] == []
            memories.submit(AFTER)


@pytest.fixture(name="renumbered")
def on_a_disk_that_numbers_files_anew_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some FUSE and network disks make their inode numbers up."""
    numbers = count(1)
    monkeypatch.setattr(database, "_inode", lambda found: (found.st_dev, next(numbers)))


@pytest.mark.usefixtures("renumbered")
def test_a_file_whose_number_changes_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "store", wait="visible") as memories:
        memories.submit(BEFORE)
        with Palimpsest.open(tmp_path / "store", wait="visible") as other:
            other.submit(AFTER)
        assert len(memories.list("ada")["memories"]) == 2
        assert memories.verify()["differences"] == 0


def restore_copy(store: Path) -> None:
    """Put a copy of the same store in its place, with the same size and times."""
    store.rename(store.with_name("elsewhere"))
    shutil.copytree(store.with_name("elsewhere"), store, copy_function=shutil.copy2)


@pytest.mark.usefixtures("renumbered")
@pytest.mark.parametrize("change", [move, delete_log, replace, restore_copy])
def test_a_file_whose_number_changes_is_missed_when_it_is_gone(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "other", wait="visible") as second:
        second.submit(OTHER)
    with Palimpsest.open(tmp_path / "store", wait="visible") as memories:
        memories.submit(BEFORE)
        change(tmp_path / "store")
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            memories.submit(AFTER)
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            memories.list("ada")


def test_a_store_that_returned_to_its_place_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_engine", load_stub)
    store = tmp_path / "store"
    with Palimpsest.open(store, wait="visible") as memories:
        memories.submit(BEFORE)
        move(store)
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            memories.submit(AFTER)
        store.with_name("elsewhere").rename(store)
        memories.submit(AFTER)
        assert memories.verify()["differences"] == 0
