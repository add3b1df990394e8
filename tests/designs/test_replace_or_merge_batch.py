"""designs/replace-or-merge.md: one test for each rule of its batch mode, in its own words."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from palimpsest.contracts.requests import Selection
from palimpsest.streams.core.questions import compose_question
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.owners import fold_owner
from tests.cluster.cluster import eventually
from tests.designs.test_replace_or_merge import AT_90, AT_95, BASE, BELOW, OLD
from tests.palimpsest.jobs.conftest import embedded_alone
from tests.palimpsest.jobs.speaker import Installation, Speaker

PRESET = load_policy("replace-or-merge")
FAR = "the bicycle shed was painted green last week"
CHAIN = (OLD, AT_90, " ".join(["station", *BASE[1:18], "lemon", "kitchen"]))
"""The first is near the second, that near the third; the first and the third are not (.85)."""


@pytest.fixture
def ada(opened: Palimpsest, request: pytest.FixtureRequest) -> Speaker:
    """Somebody whose memories are kept without a comparison until the preset is put in force."""
    return Speaker(opened, request.node.name, PRESET.model_copy(update={"enabled": False}))


def old_memories(ada: Speaker, *texts: str) -> list[str]:
    """Texts that were there before the preset; the candidates' ids."""
    ids = ada.say(*texts)
    ada.under(PRESET)
    return ids


def run(ada: Speaker, asking: JudgeSettings, **how: Any) -> dict[str, Any]:
    return ada.store.dedupe(owner_id=ada.name, judge=asking, **how)


def sources_to_compose(ada: Speaker) -> set[str]:
    """The texts that the verifier is given to compose one text of."""
    [waiting] = ada.waiting()
    ledger = fold_owner(ada.store.reader.log, ada.name)
    question = compose_question(ledger, waiting.subject, PRESET)
    assert question is not None
    return {source.text for source in question.sources}


def test_batch_cleans_existing_duplicates(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    old_memories(ada, OLD, AT_95, FAR)
    answer = run(ada, asking)
    assert [one["decision"] for one in answer["joined"]] == ["superseded"]
    assert ada.faces() == sorted([AT_95, FAR])
    assert server.calls == 0, "minor rewording needs no model, as at write time"


def test_90_to_95_is_composed(ada: Speaker, asking: JudgeSettings) -> None:
    old_memories(ada, OLD, AT_90, FAR)
    [joined] = run(ada, asking)["joined"]
    assert (joined["decision"], joined["similarity"]) == ("llm_merge", 0.9)
    assert ada.faces() == sorted([joined["composed"], FAR])


def test_transitive_clusters_are_merged_entirely(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ids = old_memories(ada, *CHAIN, FAR)
    answer = run(ada, asking)
    assert len(answer["joined"]) == 2
    assert server.calls == 1, "one call for the whole cluster"
    [memory] = [m for m in ada.memories() if len(m["members"]) > 1]
    assert [member["candidate_id"] for member in memory["members"]] == ids[:3]


def test_all_memories_in_the_cluster_are_provided_sorted_oldest_to_newest(
    ada: Speaker, asking: JudgeSettings
) -> None:
    old_memories(ada, *reversed(CHAIN))
    *_, last = run(ada, asking)["joined"]
    order = [last["composed"].index(f"{text}.") for text in reversed(CHAIN)]
    assert order == sorted(order)


def test_below_the_lower_threshold_nothing_is_merged(ada: Speaker, asking: JudgeSettings) -> None:
    old_memories(ada, OLD, BELOW)
    assert run(ada, asking)["joined"] == []
    assert ada.faces() == sorted([OLD, BELOW])


def test_merged_memory_inherits_metadata_from_newest_with_intensity_set_to_max_of_all(
    ada: Speaker, asking: JudgeSettings
) -> None:
    ada.say(OLD, intensity=0.9, metadata={"mood": "glad"})
    ada.say(AT_90, intensity=0.2, metadata={"mood": "calm"})
    ada.under(PRESET)
    run(ada, asking)
    [memory] = ada.memories()
    assert memory["intensity"] == 0.9
    assert memory["metadata"] == {"mood": "calm"}


def test_dry_run_reports_without_modifying_and_the_real_run_does_just_that(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    old_memories(ada, *CHAIN, AT_95, FAR)
    before = ada.store.status()
    planned = run(ada, asking, dry_run=True)
    assert ada.store.status() == before
    calls = server.calls
    done = run(ada, asking)
    assert server.calls == calls, "what was composed for the dry run is used"
    assert [{**one, "decision_id": None} for one in done["joined"]] == planned["joined"]
    left_out: dict[str, Any] = {"joined": [], "cost": None, "dry_run": None, "runs": []}
    assert {**done, **left_out} == {**planned, **left_out}
    assert run(ada, asking)["joined"] == []


def test_llm_merge_fails_falls_back_to_the_newest(
    ada: Speaker,
    installation: Installation,
    server: JudgeServer,
    asking: JudgeSettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    *_, newest = old_memories(ada, *CHAIN)
    server.stop()
    answer = run(ada, asking)
    assert {one["decision"] for one in answer["joined"]} == {"fallback_supersede"}
    assert ada.faces() == [CHAIN[2]]
    warning = f"LLM merge failed, falling back to replace: fallback_supersede {newest}"
    eventually(lambda: warning in installation.logged(caplog.text), "who decides has warned")
    assert CHAIN[2] not in installation.logged(caplog.text)


def test_empty_memory_after_merge_is_discarded_with_a_warning(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    old_memories(ada, OLD, AT_90)

    def empty(message: dict[str, Any]) -> None:
        message["content"][0]["input"]["text"] = " "

    server.fail(Fault(change=empty), Fault(change=empty))  # what is unusable is requested once more
    assert run(ada, asking)["joined"] == []
    assert ada.faces() == sorted([OLD, AT_90])
    [warning] = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warning.startswith("DEDUP_FAIL: nothing usable was composed")


def test_separated_memories_are_in_no_cluster_together(ada: Speaker, asking: JudgeSettings) -> None:
    ids = old_memories(ada, *CHAIN)
    ada.store.separate(ids[0], ids[2])
    [joined] = run(ada, asking)["joined"]
    assert {joined["older"], joined["newer"]} == {ids[1], ids[2]}, "the nearer two"


def test_a_cluster_is_taken_apart_join_by_join(ada: Speaker, asking: JudgeSettings) -> None:
    old_memories(ada, *CHAIN)
    first, last = run(ada, asking)["joined"]
    ada.store.unmerge(decision_id=last["decision_id"])
    assert last["composed"] not in ada.faces(), "one of its sources has left"
    assert len(ada.faces()) == 2
    ada.store.unmerge(decision_id=first["decision_id"])
    assert ada.faces() == sorted(CHAIN)


def test_a_composed_text_whose_source_left_is_recomposed_by_the_verifier(
    ada: Speaker,
    installation: Installation,
    server: JudgeServer,
    asking: JudgeSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old_memories(ada, *CHAIN)
    first, last = run(ada, asking)["joined"]
    ada.store.unmerge(decision_id=first["decision_id"])
    [memory] = [memory for memory in ada.memories() if memory["needs_composition"]]
    [waiting] = ada.waiting()
    assert (waiting.kind, waiting.subject) == ("compose", last["decision_id"])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    words = ["verifier", "--once", "--data", str(tmp_path)]
    ran = CliRunner().invoke(app, [*installation.options, *words])
    assert ran.exit_code == 0, ran.output
    eventually(lambda: not ada.waiting(), "the store has what the verifier brought")
    again = ada.store.show(memory["memory_id"])
    assert again["needs_composition"] is False
    assert again["face"] == " ".join(f"{member['text']}." for member in again["members"])


@embedded_alone
@pytest.mark.parametrize("gone", range(len(CHAIN)), ids=["oldest", "middle", "newest"])
def test_whichever_source_is_retracted_a_text_is_composed_of_the_others(
    ada: Speaker, asking: JudgeSettings, gone: int
) -> None:
    ids = old_memories(ada, *CHAIN)
    run(ada, asking)
    ada.store.retract(Selection(candidate_id=ids[gone]))
    assert [memory["needs_composition"] for memory in ada.memories()] == [True]
    assert sources_to_compose(ada) == {text for text in CHAIN if text != CHAIN[gone]}


@embedded_alone
def test_a_text_is_composed_of_what_is_left_where_the_newest_source_was_unmerged(
    ada: Speaker, asking: JudgeSettings
) -> None:
    ids = old_memories(ada, *CHAIN)
    run(ada, asking)
    ada.store.unmerge(candidate_id=ids[-1])
    assert sorted(memory["needs_composition"] for memory in ada.memories()) == [False, True]
    assert sources_to_compose(ada) == set(CHAIN[:2])


def test_what_is_put_back_needs_no_other_text(ada: Speaker, asking: JudgeSettings) -> None:
    old_memories(ada, *CHAIN)
    first, last = run(ada, asking)["joined"]
    ada.store.unmerge(decision_id=first["decision_id"])
    ada.store.reinstate(first["decision_id"])
    assert ada.faces() == [last["composed"]]
    assert ada.waiting() == []


def test_batch_dedup_runs_before_starting(
    ada: Speaker,
    installation: Installation,
    server: JudgeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The document's flag `--deduplicate-memories`; other owners' memories are joined, too."""
    old_memories(ada, OLD, AT_95)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"owner_id": ada.name, "text": FAR}))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    words = ["ingest", str(rows), "--dedupe-first"]
    ran = CliRunner().invoke(app, [*installation.options, *words])
    assert ran.exit_code == 0, ran.output
    assert "joined by the batch rules before" in ran.stderr
    eventually(lambda: ada.faces() == sorted([AT_95, FAR]), "both are done")
