"""designs/importance.md on whole stores, embedded and following a cluster: its runs and figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from palimpsest.contracts.policy import Decay, PairsDedupe, Policy
from palimpsest.settings.schedule import Schedule, Scheduler, StepDone
from palimpsest.streams.core.worth import decayed
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from tests.designs.test_importance import FAR, window
from tests.palimpsest.jobs.speaker import Installation, Speaker

PRESET = load_policy("importance")
A, B = window(0), window(4)
NIGHT = datetime(2026, 3, 1, 3, tzinfo=UTC)


@pytest.fixture
def ada(opened: Palimpsest, request: pytest.FixtureRequest) -> Speaker:
    """Somebody with no memories yet, under the preset."""
    return Speaker(opened, request.node.name, PRESET)


def run(ada: Speaker, **how: Any) -> dict[str, Any]:
    return ada.store.dedupe(owner_id=ada.name, **{"due": NIGHT, "force": True, **how})


def typed(installation: Installation, *words: str, status: int = 0) -> Any:
    ran = CliRunner().invoke(app, [*installation.options, "--json", *words])
    assert ran.exit_code == status, ran.output
    return json.loads(ran.stdout) if ran.stdout else None


def test_combine_topics_union_of_both_topic_lists(ada: Speaker) -> None:
    ada.say(A, topics=["home", "city"])
    ada.say(B, topics=["city", "france"], importance=0.9)
    run(ada)
    assert ada.rows("memories", "topics, face") == [
        {"topics": ["home", "city", "france"], "face": B}
    ]


def test_update_timestamp_use_most_recent(ada: Speaker) -> None:
    """Although the earlier speaks; the id stays the earliest member's."""
    first, _ = ada.submit(
        {"text": A, "occurred_at": "2026-01-02T00:00:00Z", "importance": 0.9},
        {"text": B, "occurred_at": "2026-02-02T00:00:00Z"},
    )
    run(ada)
    [memory] = ada.rows("memories", "memory_id, occurred_at, face")
    assert memory["occurred_at"].month == 2
    assert (memory["memory_id"], memory["face"]) == (first, A)


def test_metrics_are_rows_that_analysts_query(ada: Speaker) -> None:
    ada.say(*FAR[:3], A, B)
    answer = run(ada)
    [row] = ada.rows(
        "runs", "step, memories_before, memories_after, removed_count, removal_rate, due"
    )
    assert row == {
        "step": "dedupe",
        "memories_before": 5,
        "memories_after": 4,
        "removed_count": 1,
        "removal_rate": 0.2,
        "due": NIGHT.replace(tzinfo=None),
    }
    [rate] = ada.rows("removal_rate", "removed, rate")
    assert rate == {"removed": 1, "rate": 0.2}
    assert answer["runs"][0]["figures"]["duration_ms"] > 0
    [event] = ada.rows("events", "event, policy", "event = 'ran'")
    assert event == {"event": "ran", "policy": PRESET.hash}


def test_a_joined_pair_names_its_run_and_waits_for_a_review(ada: Speaker) -> None:
    ada.say(A, B)
    [joined] = run(ada)["joined"]
    [row] = ada.rows("joins", 'decision_id, cause, "check", similarity')
    assert (row["decision_id"], row["check"], row["similarity"]) == (
        joined["decision_id"],
        "dedupe",
        0.8,
    )
    [waiting] = ada.rows("review_queue", "waits_as, decision")
    assert waiting == {"waits_as": "unreviewed", "decision": "concatenated"}


def test_what_was_absorbed_is_found_by_its_own_words(ada: Speaker) -> None:
    ada.say(A, importance=0.9)
    ada.say(B)
    run(ada)
    [found] = ada.store.recall(ada.name, B, k=1)
    assert (found["face"], round(found["score"], 2)) == (A, 1.0)


def test_where_two_faces_that_persons_set_meet_the_review_queue_has_it(ada: Speaker) -> None:
    for text in (A, B):
        one, other = ada.say(text, f"{text} by hand")
        ada.store.merge(one, other, face=other)
    run(ada)
    [row] = ada.rows("review_queue", "waits_as", "waits_as = 'contradicts'")
    assert row == {"waits_as": "contradicts"}


def test_importance_decays_5_percent_per_month_on_reading(ada: Speaker) -> None:
    """Its own formula; nothing is written back, and the run goes by what was recorded."""
    assert PRESET.decay == Decay(field="importance", rate=0.05, days=30, since="creation")
    for days, share in ((0, 1.0), (0.5, 0.9991), (30, 0.95), (60, 0.9025), (90, 0.8574)):
        assert decayed(1.0, PRESET.decay, timedelta(days=days)) == pytest.approx(share, abs=1e-4)
    ada.say(A, importance=0.8)
    [found] = ada.store.recall(ada.name, A, k=1)
    assert found["importance"] == pytest.approx(0.8, abs=0.001)
    ada.say(B, importance=0.8)
    [joined] = run(ada)["joined"]
    assert joined["decision"] == "concatenated", "however old each is"


def smart() -> Policy:
    """The preset, whose run has the judge compose texts of equal importance."""
    assert isinstance(PRESET.dedupe, PairsDedupe)
    rule = PRESET.dedupe.model_copy(update={"equal": "compose"})
    judge = PRESET.judge.model_copy(update={"enabled": True})
    return PRESET.model_copy(update={"name": "smart", "dedupe": rule, "judge": judge})


def test_smart_merging_uses_the_llm_at_night_by_importance(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """In force before anything arrives: arrivals wait for nothing, the night composes a chain."""
    ada.under(smart())
    ada.say(B, A, window(8))
    ada.say(window(24), importance=0.9)
    ada.say(window(28))
    assert (ada.waiting(), server.calls) == ([], 0)
    planned = run(ada, judge=asking, dry_run=True)
    assert planned["asked"] == {"compose": 2}
    done = run(ada, judge=asking)
    assert (done["plan"], server.calls, done["left"]) == (planned["plan"], 2, 0)
    kept, first, second = done["joined"]
    assert (kept["decision"], kept["face"]) == ("superseded", window(24))
    assert [first["decision"], second["decision"]] == ["llm_merge", "llm_merge"]
    assert ada.faces() == [second["face"], window(24)]
    ada.store.unmerge(decision_id=first["decision_id"])
    [anew] = ada.rows("memories", "members", "needs_composition")
    assert anew == {"members": 2}, "of what is left one text is composed anew"
    assert ada.rows("runs", "step") == [{"step": "dedupe"}]


def test_what_the_llm_does_not_answer_waits_for_the_next_night(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """The joins that need no model are made meanwhile."""
    ada.under(smart())
    ada.say(A, B)
    ada.say(window(24), importance=0.9)
    ada.say(window(28))
    server.always = Fault(status=400, kind="invalid_request_error")
    unusable = run(ada, judge=asking)
    assert [one["decision"] for one in unusable["joined"]] == ["superseded"]
    assert (unusable["asked"], unusable["left"]) == ({"unusable": 1}, 1)
    assert [*unusable["why_left"].values()] == [1]
    server.stop()
    down = run(ada, judge=asking, due=NIGHT + timedelta(days=1))
    assert (down["joined"], down["asked"], down["left"]) == ([], {"unavailable": 1}, 1)
    server.start()
    server.always = None
    again = run(ada, judge=asking, due=NIGHT + timedelta(days=2))
    assert [one["decision"] for one in again["joined"]] == ["llm_merge"]


# -- from the command line -------------------------------------------------------------------------


def test_the_command_skips_forces_and_shows_what_it_does(
    ada: Speaker, installation: Installation
) -> None:
    ada.say(A, B)
    about = ("dedupe", "--owner", ada.name)
    [skipped] = typed(installation, *about)["runs"]
    assert skipped["skipped"]["reason"] == "too_few_memories"
    planned = typed(installation, *about, "--force", "--dry-run")
    assert ada.rows("runs") == []
    done = typed(installation, *about, "--force", "--because", "too many")
    assert [{**one, "decision_id": None} for one in done["joined"]] == [
        {**one, "decision_id": None} for one in planned["joined"]
    ]
    assert ada.rows("runs", "because") == [{"because": "too many"}]
    for told in (planned, done):
        counts = {name: told[name] for name in ("owners", "memories", "pairs", "all_pairs", "left")}
        assert counts == {"owners": 1, "memories": 2, "pairs": 1, "all_pairs": 1, "left": 0}


def test_a_join_of_a_run_is_taken_back_with_a_dry_run_first(
    ada: Speaker, installation: Installation
) -> None:
    ada.say(A, B)
    [joined] = run(ada)["joined"]
    unmerge = ("unmerge", "--decision", joined["decision_id"])
    dry = typed(installation, *unmerge, "--dry-run")
    assert [memory["face"] for memory in dry["memories"]] == [A, B]
    assert (dry["consequences"], ada.faces()) == ([], [f"{A}. {B}"])
    typed(installation, *unmerge)
    assert ada.faces() == [A, B]
    typed(installation, "reinstate", joined["decision_id"])
    assert ada.faces() == [f"{A}. {B}"]


# -- the schedule ----------------------------------------------------------------------------------


def scheduler(ada: Speaker, clock: list[datetime], told: list[StepDone]) -> Scheduler:
    """A scheduler of this owner's dedupe at three o'clock."""

    def dedupe(due: datetime) -> dict[str, Any]:
        return ada.store.dedupe(owner_id=ada.name, due=due)

    return Scheduler(Schedule(dedupe="03:00"), {"dedupe": dedupe}, lambda: clock[0], told.append)


def test_two_schedulers_and_a_missed_night_are_one_run_a_night(ada: Speaker) -> None:
    ada.say(*FAR)
    clock, told = [NIGHT + timedelta(hours=9)], list[StepDone]()
    for one in (scheduler(ada, clock, told), scheduler(ada, clock, told)):
        assert one.run_due()
    assert len(ada.rows("runs")) == 1
    clock[0] += timedelta(days=3)
    again = scheduler(ada, clock, told)
    assert again.run_due()
    assert again.run_due()
    assert ada.rows("runs", "due") == [
        {"due": (NIGHT + timedelta(days=days)).replace(tzinfo=None)} for days in (0, 3)
    ]


def test_a_schedule_is_carried_out_once_from_the_command_line(
    ada: Speaker, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_hour_ago = f"{datetime.now(UTC) - timedelta(hours=1):%H:%M}"
    monkeypatch.setenv("PALIMPSEST_SCHEDULE_DEDUPE", an_hour_ago)
    ada.say(*FAR[:9], A, B)
    first = typed(installation, "schedule", "--once")
    again = typed(installation, "schedule", "--once")
    for done, before in ((first, False), (again, True)):
        [mine] = [one for one in done["answer"]["runs"] if one["owner_id"] == ada.name]
        assert ("done_before" in mine) is before
    [row] = ada.rows("runs", "removed_count, actor")
    assert row == {"removed_count": 1, "actor": None}
