"""What a call left to another process does not happen after the call has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest import ModelError, Palimpsest
from palimpsest.api import store
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.jobs.ingest import to_inputs
from palimpsest.streams.embedded.inbox import pack
from tests.stub_engine import UNPLUGGED, load_stub


def test_a_candidate_whose_call_failed_is_not_stored_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "store") as memories:
        assert isinstance(memories.writer, EmbeddedWriter)
        memories.submit({"owner_id": "ada", "text": "Ada rows"})
        failed = to_inputs([{"owner_id": "ada", "text": f"Ada is {UNPLUGGED} here"}], "python")
        writer = memories.writer
        assert isinstance(writer, EmbeddedWriter)
        with pytest.raises(ModelError):
            writer._leave_in_inbox("candidates", pack(failed, {}))
        memories.submit({"owner_id": "ada", "text": "Ada paints"})
        assert [one["face"] for one in memories.list("ada")["memories"]] == [
            "Ada paints",
            "Ada rows",
        ]
