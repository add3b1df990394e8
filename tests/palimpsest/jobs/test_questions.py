"""What the judge is asked is read from what the store has in memory."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as api
from palimpsest.jobs.questions import TableReading
from palimpsest.streams.core.ledger import Ledger
from tests.stub_engine import load_stub


def test_questions_are_read_from_the_ledgers_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with a judge would keep every owner with questions twice."""
    monkeypatch.setattr(api, "load_engine", load_stub)
    with Palimpsest.open(tmp_path) as store:
        for text in ("she has a large brown dog", "she has a large brown cat"):
            store.submit({"owner_id": "who is asked about", "text": text})
        reading = TableReading(store.writer)
        assert len(reading.take(9)) == 1
        store.submit({"owner_id": "who is asked about", "text": "she has a large brown cow"})
        assert len(reading.take(9)) == 1
        gc.collect()
        ledgers = [one for one in gc.get_objects() if type(one) is Ledger]
        assert [one.owner_id for one in ledgers].count("who is asked about") == 1
