"""LanceDB is an extra: without it a store has one projection less, but the same answers."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest, UsageError
from palimpsest.backends import reader as store_reader
from palimpsest.projections.lancedb import files
from tests.palimpsest.api.test_recall import QUERIES, texts

LANCE = Path("projections") / "lancedb"


@pytest.fixture(name="patch")
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """LanceDB is not installed until this is undone."""
    files.is_installed.cache_clear()
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    yield monkeypatch
    files.is_installed.cache_clear()


def reinstall(patch: pytest.MonkeyPatch) -> None:
    patch.undo()
    files.is_installed.cache_clear()


def test_what_is_written_without_it_is_caught_up_with_it(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    with Palimpsest.open(tmp_path, by="person") as store:
        store.submit(texts(chance, 30))
        assert store.status()["lag"] == {"duckdb": 0}
        assert [*store.rebuild()] == ["duckdb"]
        assert store.verify()["differences"] == 0
        patch.setattr(store_reader, "FOLDED_EVENTS", 0)  # owners not loaded count as large
        with Palimpsest.open(tmp_path, create=False) as reader:
            found = [reader.recall("ann", query) for query in QUERIES]
    assert all(found)
    assert not (tmp_path / LANCE).exists()
    reinstall(patch)
    with Palimpsest.open(tmp_path, by="person") as store:
        assert [store.recall("ann", query) for query in QUERIES] == found
        assert store.status()["lag"] == {"lancedb": 0, "duckdb": 0}
        assert store.verify()["differences"] == 0


def test_tables_from_before_are_left_alone_and_caught_up_later(tmp_path: Path) -> None:
    chance = random.Random(8)
    with Palimpsest.open(tmp_path, by="person") as store:
        store.submit(texts(chance, 10))
        store.wait_for(store.position)
    before = (tmp_path / LANCE / files.STATE).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        files.is_installed.cache_clear()
        patch.setattr(files, "find_spec", lambda name: None)
        with Palimpsest.open(tmp_path, by="person") as store:
            store.submit(texts(chance, 20))
            store.wait_for(store.position)
            assert store.verify()["differences"] == 0
    assert (tmp_path / LANCE / files.STATE).read_bytes() == before
    files.is_installed.cache_clear()
    with Palimpsest.open(tmp_path, by="person") as store:
        store.wait_for(store.position)
        assert store.status()["lag"] == {"lancedb": 0, "duckdb": 0}
        assert store.verify()["differences"] == 0


def test_who_names_it_is_told_what_to_install(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit({"owner_id": "ann", "text": "tea in the shed"})
        with pytest.raises(UsageError, match=r"pip install 'palimpsest-memory\[lancedb\]'"):
            store.rebuild(["lancedb"])
        assert store.recall("ann", "tea")


def test_a_store_without_it_stays_so_if_a_rebuild_fails(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    files.leave_out(tmp_path / "store")
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit({"owner_id": "ann", "text": "tea in the shed"})
        with pytest.raises(UsageError, match="palimpsest-memory"):
            store.rebuild(["lancedb"])
        reinstall(patch)
        with pytest.raises(UsageError, match="there is no projection"):
            store.rebuild(["lancedb", "parquet"])
        assert files.is_installed()
        with pytest.MonkeyPatch.context() as broken:
            broken.setitem(sys.modules, "lancedb", None)
            with pytest.raises(ImportError):
                store.rebuild(["lancedb"])
        assert (tmp_path / "store" / files.WITHOUT).exists()
        assert store.status()["lag"] == {"duckdb": 0}
        assert store.rebuild(["lancedb"])["lancedb"]["rows"] > 0
        assert store.status()["lag"] == {"lancedb": 0, "duckdb": 0}
