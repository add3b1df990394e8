"""`dedupe` over a store: what it asks, joins and reports, and what it leaves alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts.answers import Pairing
from palimpsest.contracts.errors import ModelError, RefusedError, TransientError
from palimpsest.contracts.policy import CosineCheck
from palimpsest.contracts.requests import AnyRequest, Request
from palimpsest.evaluation.from_log import labels_of
from palimpsest.jobs import dedupe
from palimpsest.jobs.dedupe import plan_of
from palimpsest.process.signals import SIGNALS
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write import vectors
from tests.palimpsest.jobs.conftest import STORE_TIME, embedded_alone, unseeing
from tests.palimpsest.jobs.speaker import Speaker
from tests.stub_engine import StubEngine, load_stub

TWINS = (
    "every single morning Ada walks her two old dogs along the river",
    "every morning Ada walks her two old dogs along the river",
    "Ben keeps bees",
)
ONE_WORD_MORE = (
    "Cleo paints small wooden boats in the shed behind the house daily",
    "Cleo paints small wooden boats in the shed behind the house",
)
THREE = (*ONE_WORD_MORE, ONE_WORD_MORE[1].replace("wooden ", ""))


def run(ada: Speaker, asking: JudgeSettings, **how: Any) -> dict[str, Any]:
    return ada.store.dedupe(owner_id=ada.name, judge=asking, **how)


@embedded_alone
def test_what_write_time_could_not_find_is_joined_and_can_be_taken_back(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(*ONE_WORD_MORE, "Ben keeps bees")
    ada.under(STORE_TIME)
    answer = run(ada, asking)
    [joined] = answer["joined"]
    assert (joined["decision"], joined["similarity"]) == ("llm_reject", 0.9636)
    assert answer["asked"] == {"same": 1}
    assert (answer["memories"], answer["pairs"], answer["all_pairs"]) == (3, 1, 3)
    assert ada.faces() == ["Ben keeps bees", ONE_WORD_MORE[0]]
    ada.store.unmerge(decision_id=joined["decision_id"])
    assert ada.faces() == sorted(["Ben keeps bees", *ONE_WORD_MORE])
    calls = server.calls
    assert run(ada, asking)["joined"] == []
    assert server.calls == calls, "what a person separated is not asked about"


@embedded_alone
def test_python_reads_the_settings_of_the_commands(
    ada: Speaker, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ada.store.folder.parent)
    monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", "systemone")
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "judge-5")
    monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", server.url)
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    assert ada.store.dedupe(owner_id=ada.name)["asked"] == {"same": 1}
    assert [request["model"] for request in server.requests] == ["judge-5"]


@embedded_alone
def test_a_persons_word_labels_what_the_judge_gave_a_probability_for(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    server.always = Fault(change=lambda body: body | {"model": "judge-5-20260901"})
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    asking = asking.model_copy(update={"protocol": "systemone", "model": "judge-latest"})
    [joined] = run(ada, asking)["joined"]
    ada.store.confirm(joined["decision_id"])
    [pair] = labels_of(ada.store.reader, lambda _what, _share: None)
    assert (pair.label, pair.probability, pair.model) == ("same", 0.96, "judge-5-20260901")


@embedded_alone
@pytest.mark.parametrize("number", SIGNALS)
def test_whichever_signal_interrupts_a_run_it_keeps_the_answers_in_progress(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings, number: signal.Signals
) -> None:
    def interrupt(_request: object) -> Fault:
        os.kill(os.getpid(), number)
        return Fault(delay=0.3)

    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    before = signal.signal(number, signal.default_int_handler)
    try:
        server.rule = interrupt
        with pytest.raises(KeyboardInterrupt):
            run(ada, asking)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert len(run(ada, asking)["joined"]) == 1
    assert server.calls == 1
    [cost] = ada.store.sql("SELECT calls FROM judge_cost")
    assert cost["calls"] == 1, "the answer that came after the signal is in the view, too"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt; a shell's background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_signal_lets_ask_judge_keep_the_answers_in_progress(
    tmp_path: Path, server: JudgeServer, asking: JudgeSettings
) -> None:
    def interrupt(_request: object) -> Fault:
        os.kill(os.getpid(), signal.SIGINT)
        return Fault(delay=0.3)

    with Palimpsest.open(tmp_path / "store") as memories:
        for size in ("large", "small"):
            memories.submit({"owner_id": "ada", "text": f"she has a {size} brown dog"})
        server.rule = interrupt
        with pytest.raises(KeyboardInterrupt):
            memories.ask_judge(judge=asking)
        asked = server.calls
        server.rule = lambda _: None
        memories.ask_judge(judge=asking)
        [cost] = memories.sql("SELECT calls FROM judge_cost")
        assert (asked, server.calls) == (1, cost["calls"])


def test_a_memory_that_was_taken_apart_is_joined_by_no_later_run(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """Nor are two of its members that no join connected."""
    a, *_ = ada.say(*THREE)
    ada.under(STORE_TIME)
    for _ in range(2):
        assert len(run(ada, asking)["joined"]) == 1
    assert len(ada.faces()) == 1
    ada.store.unmerge(memory_id=a)
    assert ada.faces() == sorted(THREE)
    calls = server.calls
    again = run(ada, asking)
    assert (again["joined"], again["asked"]) == ([], {})
    assert server.calls == calls
    assert ada.faces() == sorted(THREE)


def test_a_dry_run_writes_nothing_and_the_real_one_does_just_that(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(*ONE_WORD_MORE, *TWINS)
    ada.under(STORE_TIME)
    before = ada.store.status()
    planned = run(ada, asking, dry_run=True)
    assert ada.store.status() == before
    calls = server.calls
    done = run(ada, asking)
    assert server.calls == calls
    plain = [{**one, "decision_id": None} for one in done["joined"]]
    assert plain == planned["joined"]
    left_out: dict[str, Any] = {"joined": [], "cost": None, "dry_run": None, "runs": []}
    assert {**done, **left_out} == {**planned, **left_out}


@embedded_alone
@pytest.mark.parametrize("position", ["", "²", "9" * 30, "9" * 5_000])
def test_a_plan_with_no_position_of_the_log_is_refused(
    ada: Speaker, asking: JudgeSettings, position: str
) -> None:
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    with pytest.raises(RefusedError, match="the plan does not say when it was made"):
        run(ada, asking, plan=f"x-{position}")


@embedded_alone
def test_a_planned_run_leaves_out_owners_who_came_after_it_was_planned_again(
    ada: Speaker, asking: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.say(*ONE_WORD_MORE)
    ben = Speaker(ada.store, "ben", unseeing())
    ada.under(STORE_TIME)
    plan = ada.store.dedupe(judge=asking, dry_run=True)["plan"]
    as_shown = dedupe._as_shown

    async def then_ben(*given: Any) -> Any:
        found = await as_shown(*given)
        ben.under(unseeing())
        ben.say(*ONE_WORD_MORE)
        ada.under(STORE_TIME)
        return found

    monkeypatch.setattr(dedupe, "_as_shown", then_ben)
    joined = ada.store.dedupe(judge=asking, plan=plan)["joined"]
    assert [one["owner_id"] for one in joined] == [ada.name]


@embedded_alone
def test_what_a_dry_run_paid_is_reported_and_recorded_with_the_first_run_that_uses_it(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    paid = run(ada, asking, dry_run=True)["cost"]
    assert paid["calls"] == 1
    assert paid["usd"] > 0
    nothing = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0.0}
    assert run(ada, asking, dry_run=True)["cost"] == nothing
    assert ada.rows("verdicts") == [], "a dry run writes nothing"
    done = run(ada, asking)
    assert done["cost"] == nothing
    assert server.calls == 1
    columns = "CAST(calls AS INTEGER) AS calls, input_tokens, output_tokens, cost_usd AS usd"
    assert ada.rows("verdicts", columns) == [paid]


@embedded_alone
def test_in_an_outage_one_request_is_tried_and_all_else_waits(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ben = Speaker(ada.store, "ben", unseeing())
    for one in (ada, ben):
        one.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    server.always = Fault(529, "overloaded_error")
    answer = ada.store.dedupe(judge=asking.model_copy(update={"retries": 0}))
    assert server.calls == 1
    assert (answer["left"], answer["joined"]) == (2, [])
    server.always = None
    assert len(ada.store.dedupe(judge=asking)["joined"]) == 2


def test_what_differs_is_separated_and_not_asked_about_again(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    numbers = [f"the spare key of the boat shed hangs on the hook number {n}" for n in (4, 7)]
    a, b = ada.say(*numbers)
    ada.under(STORE_TIME)
    assert run(ada, asking)["asked"] == {"different": 1}
    [verdict] = ada.rows("verdicts", "candidate_id, neighbour_id, answer")
    assert verdict == {"candidate_id": b, "neighbour_id": a, "answer": "different"}
    kept = ada.rows("dedup_log", "decision, existing_id, similarity > 0.9 AS near, llm_answer")
    assert {"existing_id": a, "near": True, "llm_answer": "different"}.items() <= kept[-1].items()
    assert [row["decision"] for row in kept] == ["separated"]
    (ada.store.folder / "judge.sqlite").unlink()
    assert run(ada, asking)["asked"] == {}


def test_the_same_memories_give_the_same_decisions_in_every_store(
    tmp_path: Path, asking: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    found = []
    for name in ("one", "two"):
        with Palimpsest.open(tmp_path / name, policy=unseeing(), by="person") as opened:
            rows = [{"owner_id": "ada", "id": text, "text": text} for text in ONE_WORD_MORE]
            opened.submit(rows)
            opened.set_policy(STORE_TIME)
            found.append(opened.dedupe(judge=asking)["joined"])
    assert found[0] == found[1]
    assert found[0][0]["decision_id"]


@embedded_alone
def test_owners_are_never_compared(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(ONE_WORD_MORE[0])
    Speaker(ada.store, "ben", unseeing()).say(ONE_WORD_MORE[1])
    ada.under(STORE_TIME)
    answer = ada.store.dedupe(judge=asking)
    assert (answer["owners"], answer["pairs"], server.calls) == (2, 0, 0)


@embedded_alone
def test_of_one_owner_alone(ada: Speaker, asking: JudgeSettings) -> None:
    ben = Speaker(ada.store, "ben", unseeing())
    for one in (ada, ben):
        one.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    answer = run(ben, asking)
    assert (answer["owners"], answer["memories"], len(answer["joined"])) == (1, 2, 1)
    assert (len(ada.faces()), len(ben.faces())) == (2, 1)
    assert ada.store.dedupe(owner_id="nobody", judge=asking)["owners"] == 0


@embedded_alone
def test_when_nobody_answers_nothing_is_joined_and_the_next_run_goes_on(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    server.stop()
    answer = run(ada, asking)
    assert (answer["asked"], answer["left"], answer["joined"]) == ({"unavailable": 1}, 1, [])
    server.start()
    assert len(run(ada, asking)["joined"]) == 1


def test_one_failing_merge_is_a_warning_and_not_the_end(
    ada: Speaker,
    asking: JudgeSettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, _, *_ = ada.say(*ONE_WORD_MORE, *TWINS)
    ada.under(STORE_TIME)
    writer = ada.store.writer
    asked = writer.ask

    def ask_each(_requests: list[AnyRequest]) -> None:
        raise TransientError("no answer in time")

    def ask(request: Request) -> dict[str, Any]:
        if getattr(request, "a", "") == first:
            raise RefusedError("not_living", "one of the pair is retracted")
        return asked(request)

    monkeypatch.setattr(writer, "ask_each", ask_each)
    monkeypatch.setattr(writer, "ask", ask)
    answer = run(ada, asking)
    assert [one["reason"] for one in answer["refused"]] == ["not_living"]
    assert len(answer["joined"]) == 1
    assert answer["runs"][0]["figures"]["removed_count"] == 1
    assert " failed: " in caplog.text
    assert "Cleo" not in caplog.text


@embedded_alone
def test_a_run_that_was_carried_out_is_recorded_though_it_would_not_be_due_any_more(
    ada: Speaker, asking: JudgeSettings
) -> None:
    assert STORE_TIME.dedupe is not None
    rules = STORE_TIME.dedupe.model_copy(update={"more_than": 2})
    ada.say(*ONE_WORD_MORE, "Ben keeps bees")
    ada.under(STORE_TIME.model_copy(update={"dedupe": rules}))
    [ran] = run(ada, asking)["runs"]
    [recorded] = ada.rows("runs", "event_id, memories_before, memories_after")
    assert recorded == {"event_id": ran["ran"], "memories_before": 3, "memories_after": 2}
    [skipped] = run(ada, asking)["runs"]
    assert "ran" not in skipped
    assert "skipped" in skipped
    [forced] = run(ada, asking, force=True)["runs"]
    assert forced["ran"] != ran["ran"]


@embedded_alone
def test_a_run_that_was_due_at_a_time_is_done_once(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say(*ONE_WORD_MORE)
    ada.under(STORE_TIME)
    due = datetime(2026, 3, 1, 3, tzinfo=UTC)
    [first] = run(ada, asking, due=due)["runs"]
    ada.under(unseeing())
    ada.say(*TWINS)
    ada.under(STORE_TIME)
    again, calls = run(ada, asking, due=due), server.calls
    assert (again["joined"], again["asked"], calls) == ([], {}, 1)
    told = {"owner_id": ada.name, "step": "dedupe", "figures": first["figures"]}
    assert again["runs"] == [told | {"done_before": True}]
    assert len(run(ada, asking, due=due + timedelta(days=1))["joined"]) == 1


PAIR: Any = Pairing(
    owner_id="ada",
    decision="llm_merge",
    similarity=0.5,
    older="a",
    newer="b",
    older_text="tea",
    newer_text="chai",
    reasoning=None,
    composed="tea or chai",
)


SAID = ("similarity", "reasoning")
"""Fields that describe a join, without effect on it."""


def test_a_plan_is_another_where_anything_that_would_become_is() -> None:
    other = PAIR | {"older": "c"}
    plans = [
        plan_of("mine", []),
        plan_of("mine", [PAIR]),
        plan_of("yours", [PAIR]),
        plan_of("mine", [PAIR, other]),
        plan_of("mine", [PAIR | {"face": "chai"}]),
        *(plan_of("mine", [PAIR | {name: "x"}]) for name in PAIR if name not in SAID),
    ]
    assert len(set(plans)) == len(plans)
    assert plan_of("mine", [other, PAIR]) == plan_of("mine", [PAIR, other])


@embedded_alone
def test_a_policy_without_batch_rules_is_reported(ada: Speaker) -> None:
    ada.say("a text")
    ada.under(STORE_TIME.model_copy(update={"dedupe": None}))
    with pytest.raises(RefusedError, match="dedupe"):
        ada.store.dedupe()


@embedded_alone
def test_who_needs_no_judge_needs_no_key(ada: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ada.say("Ada owns a boat", "Ada owns the boat, a boat")
    ada.under(STORE_TIME)
    assert ada.store.dedupe()["asked"] == {}


@embedded_alone
def test_a_run_that_lacks_the_model_for_a_composed_text_is_not_recorded(
    ada: Speaker, asking: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was done is not repeated, so these memories would wait for the next one."""
    monkeypatch.setattr(vectors, "RETRY_SECONDS", 0.0)
    rules = load_policy("replace-or-merge")
    [check] = rules.checks
    assert isinstance(check, CosineCheck)
    gray = check.model_copy(update={"zones": check.zones[1:]})
    composing = rules.model_copy(update={"embedder_fails": "store", "checks": (gray,)})
    ada.say(*ONE_WORD_MORE)
    ada.under(composing)
    due = datetime(2026, 9, 1, tzinfo=UTC)
    with monkeypatch.context() as down:
        down.setattr(StubEngine, "embed", Mock(side_effect=ModelError("unplugged")))
        with pytest.raises(RefusedError, match="embedder_down"):
            run(ada, asking, due=due)
    answer = run(ada, asking, due=due)
    assert [one["decision"] for one in answer["joined"]] == ["llm_merge"]
    assert answer["refused"] == []
