"""designs/replace-or-merge.md, "Error Handling" and "Logging", where they need a writer at hand."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from contracts.errors import StoreError
from contracts.evidence import Answer, Verdict
from contracts.policy import Policy
from contracts.requests import SettleRequest
from streams.core.text import text_hash
from streams.embedded.desk import WriterDesk
from streams.embedded.importing import import_lines
from streams.embedded.log import Log
from streams.embedded.operations import carry_out
from streams.embedder import Embedding
from streams.policies import load_policy
from tests.designs.owners import fresh
from tests.designs.test_replace_or_merge import AT_90, AT_95, BELOW, OLD
from tests.streams.embedded.runtime import Runtime
from tests.stub_engine import StubEngine

PRESET = load_policy("replace-or-merge")


def said(text: str, number: int) -> dict[str, str]:
    return {"owner_id": "ann", "source": "test", "id": str(number), "text": text}


def with_a_vector_of_another_length(source: Path, target: Path) -> None:
    """An imported log, one of whose vectors has eight numbers: another model of the same name."""
    lines = []
    with Log.open(source) as log:
        for _, line in log.lines():
            event = orjson.loads(line)
            vector = event["data"].get("content", {}).get("vector")
            if vector:
                vector |= {"dimension": 8, "data": base64.b64encode(bytes(16)).decode()}
            lines.append(orjson.dumps(event))
    with Log.create(target) as log:
        import_lines(log, lines)


@pytest.fixture
def unsearchable(tmp_path: Path) -> Path:
    """A log whose one scope cannot be searched."""
    with Runtime(tmp_path / "sound.sqlite", policy=PRESET) as runtime:
        runtime.submit(said(OLD, 1))
    with_a_vector_of_another_length(tmp_path / "sound.sqlite", tmp_path / "log.sqlite")
    return tmp_path / "log.sqlite"


def test_query_fails_during_dedup_check_store_memory_anyway(
    unsearchable: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Runtime(unsearchable, policy=PRESET) as runtime:
        outcomes = runtime.submit(said(AT_95, 2), said(AT_90, 3), said(AT_95, 4))
        assert [one.decision for one in outcomes] == ["stored", "stored", "hash_exact"]
        events = [orjson.loads(line) for line in runtime.lines()]
    assert [e["data"]["evidence"]["down"] for e in events[2:4]] == [["search"], ["search"]]
    [warning] = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert warning.getMessage().startswith("DEDUP_FAIL: search failed")
    assert "alice" not in caplog.text


def test_a_policy_that_does_not_fail_open_stops_and_says_why(unsearchable: Path) -> None:
    closed = PRESET.model_copy(update={"search_fails": "stop"})
    with Runtime(unsearchable, policy=closed) as runtime:
        with pytest.raises(StoreError, match="cannot be searched"):
            runtime.submit(said(AT_95, 2))
        assert len(runtime.lines()) == 2


# -- what the model cannot tell apart ------------------------------------------------------------


class Blind(StubEngine):
    """A model that has no token for a text's last word."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            Embedding(one.vector, truncated=False, unknown=(text.split()[-1],))
            for one, text in zip(super().embed(texts), texts, strict=True)
        ]


def test_what_the_model_cannot_tell_apart_is_not_replaced(tmp_path: Path) -> None:
    """Ours differs: the judge is asked to compose one text of both, so that neither is lost."""
    with Runtime(tmp_path / "log.sqlite", policy=PRESET, engine=Blind()) as runtime:
        _, new = runtime.submit(said(OLD, 1), said(AT_95, 2))
        assert new.decision == "pending"
        settle(runtime, "unavailable")
        assert len(runtime.writer.owners.get("ann").ledger.memories()) == 2


# -- logging -------------------------------------------------------------------------------------


def settle(runtime: Runtime, answer: Answer, text: str | None = None) -> None:
    older, newer = runtime.writer.owners.get("ann").ledger.entries.values()
    verdict = Verdict(neighbour_id=older.id, answer=answer)
    request = SettleRequest(
        request_id=fresh(), candidate_id=newer.id, verdicts=(verdict,), composed=text
    )
    carry_out(WriterDesk(runtime.writer), request)
    runtime.writer.commit()


def logged(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    ours = (r for r in caplog.records if r.name.startswith("streams.") and r.levelno == level)
    return [record.getMessage() for record in ours]


def pair(tmp_path: Path, policy: Policy = PRESET, second: str = AT_90) -> Runtime:
    runtime = Runtime(tmp_path / "log.sqlite", policy=policy)
    runtime.submit(said(OLD, 1), said(second, 2))
    return runtime


@pytest.mark.parametrize(
    ("second", "decision"), [(AT_95, "superseded"), (AT_90, "pending"), (BELOW, "stored")]
)
def test_dedup_check_is_logged_for_debugging(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, second: str, decision: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with pair(tmp_path, second=second):
        first, line = logged(caplog, logging.DEBUG)
    assert first == f"DEDUP_CHECK: {text_hash(OLD)[:12]} closest match None sim=None -> stored"
    assert line.startswith(f"DEDUP_CHECK: {text_hash(second)[:12]} closest match ")
    assert line.endswith(f"-> {decision}")
    assert "alice" not in caplog.text


def test_dedup_merge_is_logged_as_information(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pair(tmp_path) as runtime:
        settle(runtime, "compose", "Alice told the team twice.")
    of = text_hash("Alice told the team twice.")[:12]
    assert logged(caplog, logging.INFO) == [f"DEDUP_MERGE: 2 memories -> {of}"]


@pytest.mark.parametrize(
    ("answer", "text", "said"),
    [
        ("unavailable", None, "DEDUP_FAIL: LLM merge failed, falling back to replace"),
        ("compose", "", "DEDUP_FAIL: nothing usable was composed, both stay"),
        ("unusable", None, "DEDUP_FAIL: nothing usable was composed, both stay"),
    ],
)
def test_dedup_fail_is_logged_as_a_warning(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    answer: Answer,
    text: str | None,
    said: str,
) -> None:
    with pair(tmp_path) as runtime:
        settle(runtime, answer, text)
    [line] = logged(caplog, logging.WARNING)
    assert line.startswith(said)
