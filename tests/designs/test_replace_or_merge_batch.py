"""designs/replace-or-merge.md: one test for each rule of its batch mode, in its own words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest, store
from palimpsest.cli import app
from palimpsest.demo_judge import Fault, JudgeServer
from streams.judge.settings import JudgeSettings
from streams.policies import load_policy
from tests.batches.conftest import server
from tests.designs.test_replace_or_merge import AT_90, AT_95, BASE, BELOW, OLD
from tests.stub_engine import load_stub

__all__ = ["server"]

PRESET = load_policy("replace-or-merge")
FAR = "the bicycle shed was painted green last week"
CHAIN = (OLD, AT_90, " ".join(["station", *BASE[1:18], "sunday", "kitchen"]))
"""The first is near the second, that near the third; the first and the third are not (.85)."""

Say = Callable[..., list[str]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    """A store of memories that were kept without a comparison, then put under the preset."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    off = PRESET.model_copy(update={"enabled": False})
    with Palimpsest.open(tmp_path / "store", policy=off) as made:
        yield made


@pytest.fixture
def say(opened: Palimpsest) -> Say:
    """Says texts, each with its fields, and puts the preset in force; the candidates' ids."""

    def said(*texts: str, **fields: Any) -> list[str]:
        rows = [{"owner_id": "ada", "text": text, **fields} for text in texts]
        ids = [str(outcome.candidate_id) for outcome in opened.submit(rows)]
        opened.set_policy(PRESET)
        return ids

    return said


def run(opened: Palimpsest, server: JudgeServer, **how: Any) -> dict[str, Any]:
    settings = JudgeSettings(patience=2.0, retries=1, base_url=server.url)
    return opened.dedupe(judge=settings, **how)


def faces(opened: Palimpsest) -> list[str]:
    return sorted(row["face"] for row in opened.sql("SELECT face FROM memories"))


def test_batch_cleans_existing_duplicates(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(OLD, AT_95, FAR)
    answer = run(opened, server)
    assert [one["decision"] for one in answer["joined"]] == ["superseded"]
    assert faces(opened) == sorted([AT_95, FAR])
    assert server.calls == 0, "minor rewording needs no model, as at write time"


def test_90_to_95_is_composed(opened: Palimpsest, say: Say, server: JudgeServer) -> None:
    say(OLD, AT_90, FAR)
    [joined] = run(opened, server)["joined"]
    assert (joined["decision"], joined["similarity"]) == ("llm_merge", 0.9)
    assert faces(opened) == sorted([joined["composed"], FAR])


def test_transitive_clusters_are_merged_entirely(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    ids = say(*CHAIN, FAR)
    answer = run(opened, server)
    assert len(answer["joined"]) == 2
    assert server.calls == 1, "one call for the whole cluster"
    [memory] = [m for m in shown(opened) if len(m["members"]) > 1]
    assert [member["candidate_id"] for member in memory["members"]] == ids[:3]


def shown(opened: Palimpsest) -> list[dict[str, Any]]:
    return [opened.show(row["memory_id"]) for row in opened.sql("SELECT memory_id FROM memories")]


def test_all_memories_in_the_cluster_are_provided_sorted_oldest_to_newest(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*reversed(CHAIN))
    *_, last = run(opened, server)["joined"]
    order = [last["composed"].index(f"{text}.") for text in reversed(CHAIN)]
    assert order == sorted(order)


def test_below_the_lower_threshold_nothing_is_merged(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(OLD, BELOW)
    assert run(opened, server)["joined"] == []
    assert faces(opened) == sorted([OLD, BELOW])


def test_merged_memory_inherits_metadata_from_newest_with_intensity_set_to_max_of_all(
    opened: Palimpsest, server: JudgeServer
) -> None:
    rows = [
        {"owner_id": "ada", "text": OLD, "intensity": 0.9, "mood": "glad"},
        {"owner_id": "ada", "text": AT_90, "intensity": 0.2, "mood": "calm"},
    ]
    opened.submit(rows)
    opened.set_policy(PRESET)
    run(opened, server)
    [memory] = shown(opened)
    assert memory["intensity"] == 0.9
    assert memory["metadata"] == {"mood": "calm"}


def test_dry_run_reports_without_modifying_and_the_real_run_does_just_that(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*CHAIN, AT_95, FAR)
    before = opened.status()
    planned = run(opened, server, dry_run=True)
    assert opened.status() == before
    calls = server.calls
    done = run(opened, server)
    assert server.calls == calls, "what was composed for the dry run is used"
    assert [{**one, "decision_id": None} for one in done["joined"]] == planned["joined"]
    assert {**done, "joined": [], "dry_run": True} == {**planned, "joined": []}
    assert run(opened, server)["joined"] == []


def test_llm_merge_fails_falls_back_to_the_newest(
    opened: Palimpsest, say: Say, server: JudgeServer, caplog: pytest.LogCaptureFixture
) -> None:
    say(*CHAIN)
    server.stop()
    answer = run(opened, server)
    assert {one["decision"] for one in answer["joined"]} == {"fallback_supersede"}
    assert faces(opened) == [CHAIN[2]]
    assert "DEDUP_FAIL: LLM merge failed, falling back to replace" in caplog.text
    assert "alice" not in caplog.text


def test_empty_memory_after_merge_is_discarded_with_a_warning(
    opened: Palimpsest, say: Say, server: JudgeServer, caplog: pytest.LogCaptureFixture
) -> None:
    say(OLD, AT_90)

    def empty(message: dict[str, Any]) -> None:
        message["content"][0]["input"]["text"] = " "

    server.fail(Fault(change=empty))
    assert run(opened, server)["joined"] == []
    assert faces(opened) == sorted([OLD, AT_90])
    [warning] = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warning.startswith("DEDUP_FAIL: nothing usable was composed")


def test_separated_memories_are_in_no_cluster_together(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    ids = say(*CHAIN)
    opened.separate(ids[0], ids[2])
    [joined] = run(opened, server)["joined"]
    assert {joined["older"], joined["newer"]} == {ids[1], ids[2]}, "the nearer two"


def test_a_cluster_is_taken_apart_join_by_join(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*CHAIN)
    first, last = run(opened, server)["joined"]
    opened.unmerge(decision_id=last["decision_id"])
    assert last["composed"] not in faces(opened), "one of its sources has left"
    assert len(faces(opened)) == 2
    opened.unmerge(decision_id=first["decision_id"])
    assert faces(opened) == sorted(CHAIN)


def test_a_composed_text_whose_source_left_is_composed_anew_by_the_verifier(
    opened: Palimpsest, say: Say, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(*CHAIN)
    first, last = run(opened, server)["joined"]
    opened.unmerge(decision_id=first["decision_id"])
    [memory] = [memory for memory in shown(opened) if memory["needs_composition"]]
    [waiting] = opened._desk.log.verifications.waiting(9)
    assert (waiting.kind, waiting.subject) == ("compose", last["decision_id"])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    ran = CliRunner().invoke(app, ["--store", str(opened.folder), "--json", "verifier", "--once"])
    assert ran.exit_code == 0, ran.output
    again = opened.show(memory["memory_id"])
    assert again["needs_composition"] is False
    assert again["face"] == " ".join(f"{member['text']}." for member in again["members"])
    assert opened._desk.log.verifications.count() == 0


def test_what_is_put_back_needs_no_other_text(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*CHAIN)
    first, last = run(opened, server)["joined"]
    opened.unmerge(decision_id=first["decision_id"])
    opened.reinstate(first["decision_id"])
    assert faces(opened) == [last["composed"]]
    assert opened._desk.log.verifications.count() == 0


def test_batch_dedup_runs_before_starting(
    opened: Palimpsest,
    say: Say,
    server: JudgeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The document's flag `--deduplicate-memories`."""
    say(OLD, AT_95)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(f'{{"owner_id": "ada", "text": "{FAR}"}}\n')
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    words = ["--store", str(opened.folder), "ingest", str(rows), "--dedupe-first"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    assert "1 joined by the batch rules before" in ran.stderr
    assert faces(opened) == sorted([AT_95, FAR])
