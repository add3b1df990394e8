"""Exact repeats in the views: verbatim ones, and those that differ, whoever decided and when."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from palimpsest.contracts.wire import decode
from palimpsest.projections.duckdb import tables
from palimpsest.projections.duckdb.queries import query
from palimpsest.projections.duckdb.segments import MANIFEST, listed
from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.lancedb.files import STATE
from palimpsest.projections.projector import Projector
from palimpsest.projections.verify import verify
from tests.projections.histories import MemoryLog
from tests.projections.test_oracle import wrong
from tests.recorded.replay import FOLDER

OF_BEFORE = FOLDER / "exact-repeats-of-before-fold-case-white-space-and-width.jsonl"


@pytest.fixture(name="log")
def _log() -> MemoryLog:
    """What an earlier version decided, which knew one form of a text and recorded no `differs`."""
    log = MemoryLog()
    for line in OF_BEFORE.read_bytes().splitlines():
        log.append(decode(line))
    return log


def project(folder: Path, log: MemoryLog) -> list[str]:
    projector = Projector(folder, log)
    done = projector.start().done
    projector.close()
    return [*done]


def test_the_joins_that_an_earlier_version_made_by_folding_are_told_from_verbatim_ones(
    tmp_path: Path, log: MemoryLog
) -> None:
    project(tmp_path, log)
    text = """
        SELECT c.producer_id, j.differs, j.folded
        FROM joins j JOIN candidates c USING (candidate_id) ORDER BY j.position
    """
    found = {row["producer_id"]: (row["differs"], row["folded"]) for row in query(tmp_path, text)}
    assert found == {
        "case": (["case"], True),
        "space": (["white_space"], True),
        "start": (["sentence_case"], False),
        "same": ([], False),
        "digits": (["compatibility"], True),
        "wide": (["compatibility"], True),
        "other": ([], False),
        "upper": (["case"], True),
    }


def test_each_but_a_verbatim_one_waits_for_a_review(tmp_path: Path, log: MemoryLog) -> None:
    """Of a text that is living in its memory: that of the lamp's first wording is, by a repeat."""
    project(tmp_path, log)
    text = """
        SELECT c.producer_id AS name FROM review_queue q JOIN candidates c USING (candidate_id)
        WHERE q.waits_as = 'unreviewed' ORDER BY q.position
    """
    names = [row["name"] for row in query(tmp_path, text)]
    assert names == ["case", "space", "start", "digits", "wide", "other", "upper"]


def test_tables_of_before_are_recreated_and_show_the_same_memories(
    tmp_path: Path, log: MemoryLog
) -> None:
    """They had a row for each search form of a text, and did not say what joins differ in."""
    project(tmp_path, log)
    memories = query(tmp_path, "SELECT * FROM memories ORDER BY memory_id")
    for segment in listed(tmp_path):
        manifest = segment.manifest() | {"layout": tables.LAYOUT - 1}
        (segment.path / MANIFEST).write_bytes(orjson.dumps(manifest))
    state = tmp_path / lance.FOLDER / STATE
    earlier = orjson.loads(state.read_bytes()) | {"layout": lance.LAYOUT - 1}
    state.write_bytes(orjson.dumps(earlier))
    done = project(tmp_path, log)
    assert [one for one in done if "layout" in one]
    assert orjson.loads(state.read_bytes())["layout"] == lance.LAYOUT
    assert query(tmp_path, "SELECT * FROM memories ORDER BY memory_id") == memories
    assert verify(log, tmp_path)["differences"] == 0
    assert wrong(tmp_path, log) == []
