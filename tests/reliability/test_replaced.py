"""A store whose folder is moved, deleted or replaced while it is open: no write is acknowledged,
and no answer is from the old file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest import Palimpsest, StoreError
from palimpsest.api import store as api
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
