"""Reading builds no writer: it needs ledgers, the log and the projections."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.streams.write.writer import Writer
from tests.stub_engine import load_stub


def test_a_store_is_read_without_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path) as memories:
        [said] = memories.submit([{"owner_id": "ada", "text": "Ada has a boat"}])
    candidate_id = str(said.candidate_id)

    def refuses(*_arguments: object) -> None:
        raise AssertionError("a writer was built")

    with Palimpsest.open(tmp_path) as memories:
        monkeypatch.setattr(Writer, "__init__", refuses)
        [recalled] = memories.recall("ada", "who has a boat?")
        [hit] = memories.find("ada", "boat")["hits"]
        [listed] = memories.list("ada")["memories"]
        ids = [recalled["memory_id"], hit["memory_id"], listed["memory_id"]]
        assert ids == [memories.get(candidate_id)["memory_id"]] * 3
        assert memories.history(candidate_id)["events"]
        monkeypatch.undo()
