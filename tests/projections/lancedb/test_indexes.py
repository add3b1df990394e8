"""LanceDB's scalar indexes: without them, each change reads the keys of the whole table."""

from __future__ import annotations

from pathlib import Path

import lancedb
import orjson
import pytest

from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.lancedb.files import STATE, sizes
from palimpsest.projections.projector import Projector
from palimpsest.projections.verify import verify
from tests.projections.histories import History

KEYS = {"candidates": "distinct_id", "memories": "memory_id"}


@pytest.fixture(autouse=True)
def _from_twenty_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance, "INDEXED_FROM", 20)


def indexed(folder: Path) -> set[int]:
    """How many rows the indexes of both tables have."""
    counts = set()
    for name, key in KEYS.items():
        table = lancedb.connect(folder / "lancedb").open_table(name)
        for column in (key, "owner_id"):
            stats = table.index_stats(f"{column}_idx")
            counts.add(0 if stats is None else stats.num_indexed_rows)
    return counts


def say(history: History, upto: int) -> None:
    """Bring the number of memories to `upto`, of a text each."""
    ledger = history.ledgers.get("ada")
    for number in range(len(ledger.entries) if ledger else 0, upto):
        history.admit("ada", f"The kettle sings in room {number}.")


@pytest.fixture
def history() -> History:
    return History()


def test_a_table_that_grows_is_indexed_again_once_a_quarter_of_it_is_new(
    tmp_path: Path, history: History
) -> None:
    projector = Projector(tmp_path, history.log)
    projector.start()
    seen = {}
    for count in (19, 20, 26, 27):
        say(history, count)
        projector.submit(history.take())
        projector.flush()
        assert projector._lance is not None
        projector._lance.tidy()
        seen[count] = indexed(tmp_path)
    projector.close()
    assert seen == {19: {0}, 20: {20}, 26: {20}, 27: {27}}
    assert verify(history.log, tmp_path)["differences"] == 0


def test_a_store_that_catches_up_is_indexed(tmp_path: Path, history: History) -> None:
    say(history, 25)
    Projector(tmp_path, history.log).start()
    assert indexed(tmp_path) == {25}


def test_a_store_without_its_indexes_gets_them(
    tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that an earlier version wrote."""
    monkeypatch.setattr(lance, "INDEXED_FROM", 100)
    say(history, 25)
    Projector(tmp_path, history.log).start()
    assert indexed(tmp_path) == {0}
    monkeypatch.setattr(lance, "INDEXED_FROM", 20)
    Projector(tmp_path, history.log).catch_up()
    assert indexed(tmp_path) == {25}
    assert Projector(tmp_path, history.log).start().done == [], "the indexes are committed"
    assert verify(history.log, tmp_path)["differences"] == 0


def test_what_changes_after_it_was_indexed_is_as_it_is_without(
    tmp_path: Path, history: History
) -> None:
    projector = Projector(tmp_path, history.log)
    projector.start()
    for _ in range(6):
        history.steps(12)
        projector.submit(history.take())
        projector.flush()
        assert projector._lance is not None
        projector._lance.tidy()
    projector.close()
    assert indexed(tmp_path) != {0}
    assert verify(history.log, tmp_path)["differences"] == 0


def test_what_was_compacted_is_recorded_with_the_files_that_are_left(
    tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` and a start compare the files with these: without them no damage would be seen."""
    monkeypatch.setattr(lance, "FRAGMENTED", 2)
    projector = Projector(tmp_path, history.log)
    projector.start()
    for count in (5, 10, 15):
        say(history, count)
        projector.submit(history.take())
        projector.flush()
    assert projector._lance is not None
    assert projector._lance.tidy()
    state = orjson.loads((tmp_path / lance.FOLDER / STATE).read_bytes())
    for name, table in state["tables"].items():
        assert table["files"] == sizes(tmp_path / lance.FOLDER / f"{name}.lance") != {}
    projector.close()
