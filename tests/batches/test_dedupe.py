"""`dedupe` over a store: what it asks, joins, tells, and what it does not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.errors import RefusedError, TransientError
from contracts.requests import AnyRequest
from palimpsest import Palimpsest, store
from palimpsest.demo_judge import JudgeServer
from palimpsest.desk import FrontDesk
from streams.judge.settings import JudgeSettings
from tests.batches.conftest import QUICK, STORE_TIME, Say, unseeing
from tests.stub_engine import load_stub

TWINS = (
    "every single morning Ada walks her two old dogs along the river",
    "every single morning Ada walks her two old dogs along the canal",
    "Ben keeps bees",
)
ONE_WORD_MORE = (
    "Cleo paints small wooden boats in the shed behind the house daily",
    "Cleo paints small wooden boats in the shed behind the house",
)


def run(opened: Palimpsest, server: JudgeServer, **how: Any) -> dict[str, Any]:
    settings = JudgeSettings(base_url=server.url, **QUICK.model_dump(exclude={"base_url"}))
    return opened.dedupe(judge=settings, **how)


def faces(opened: Palimpsest) -> list[str]:
    return sorted(row["face"] for row in opened.sql("SELECT face FROM memories"))


def test_what_write_time_could_not_find_is_joined_and_can_be_taken_back(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*ONE_WORD_MORE, "Ben keeps bees")
    opened.set_policy(STORE_TIME)
    answer = run(opened, server)
    [joined] = answer["joined"]
    assert (joined["decision"], joined["similarity"]) == ("llm_reject", 0.9636)
    assert answer["asked"] == {"same": 1}
    assert (answer["memories"], answer["pairs"], answer["all_pairs"]) == (3, 1, 3)
    assert faces(opened) == ["Ben keeps bees", ONE_WORD_MORE[0]]
    opened.unmerge(decision_id=joined["decision_id"])
    assert faces(opened) == sorted(["Ben keeps bees", *ONE_WORD_MORE])
    calls = server.calls
    assert run(opened, server)["joined"] == []
    assert server.calls == calls, "what a person separated is not asked about"


def test_a_dry_run_writes_nothing_and_the_real_one_does_just_that(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*ONE_WORD_MORE, *TWINS)
    opened.set_policy(STORE_TIME)
    before = opened.status()
    planned = run(opened, server, dry_run=True)
    assert opened.status() == before
    calls = server.calls
    done = run(opened, server)
    assert server.calls == calls
    plain = [{**one, "decision_id": None} for one in done["joined"]]
    assert plain == planned["joined"]
    assert {**done, "joined": [], "dry_run": True} == {**planned, "joined": []}


def test_what_differs_is_separated_and_not_asked_about_again(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    numbers = [f"the spare key of the boat shed hangs on the hook number {n}" for n in (4, 7)]
    a, b = say(*numbers)
    opened.set_policy(STORE_TIME)
    assert run(opened, server)["asked"] == {"different": 1}
    [verdict] = opened.sql("SELECT candidate_id, neighbour_id, answer FROM verdicts")
    assert verdict == {"candidate_id": b, "neighbour_id": a, "answer": "different"}
    (opened.folder / "judge.sqlite").unlink(missing_ok=True)
    assert run(opened, server)["asked"] == {}


def test_the_same_memories_give_the_same_decisions_in_every_store(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    found = []
    for name in ("one", "two"):
        with Palimpsest.open(tmp_path / name, policy=unseeing()) as opened:
            opened.submit([{"owner_id": "ada", "text": text} for text in ONE_WORD_MORE])
            opened.set_policy(STORE_TIME)
            found.append(run(opened, server)["joined"])
    assert found[0] == found[1]
    assert found[0][0]["decision_id"]


def test_owners_are_never_compared(opened: Palimpsest, say: Say, server: JudgeServer) -> None:
    say(ONE_WORD_MORE[0])
    say(ONE_WORD_MORE[1], owner="ben")
    opened.set_policy(STORE_TIME)
    answer = run(opened, server)
    assert (answer["owners"], answer["pairs"], server.calls) == (2, 0, 0)


def test_when_nobody_answers_nothing_is_joined_and_the_next_run_goes_on(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say(*ONE_WORD_MORE)
    opened.set_policy(STORE_TIME)
    server.stop()
    answer = run(opened, server)
    assert (answer["asked"], answer["left"], answer["joined"]) == ({"unavailable": 1}, 1, [])
    server.start()
    assert len(run(opened, server)["joined"]) == 1


def test_one_failing_merge_is_a_warning_and_not_the_end(
    opened: Palimpsest,
    say: Say,
    server: JudgeServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, _, *_ = say(*ONE_WORD_MORE, *TWINS)
    opened.set_policy(STORE_TIME)
    asked = FrontDesk.ask

    def ask_each(_: FrontDesk, requests: list[AnyRequest]) -> None:
        raise TransientError("no answer in time")

    def ask(self: FrontDesk, request: AnyRequest) -> dict[str, Any]:
        if getattr(request, "a", "") == first:
            raise RefusedError("not_living", "one of the pair is retracted")
        return asked(self, request)

    monkeypatch.setattr(FrontDesk, "ask_each", ask_each)
    monkeypatch.setattr(FrontDesk, "ask", ask)
    answer = run(opened, server)
    assert [one["reason"] for one in answer["refused"]] == ["not_living"]
    assert len(answer["joined"]) == 1
    assert "came to nothing" in caplog.text
    assert "Cleo" not in caplog.text


def test_a_policy_without_batch_rules_is_told(opened: Palimpsest, say: Say) -> None:
    say("a text")
    opened.set_policy(STORE_TIME.model_copy(update={"dedupe": None}))
    with pytest.raises(RefusedError, match="dedupe"):
        opened.dedupe()


def test_who_needs_no_judge_needs_no_key(
    opened: Palimpsest, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    say("Ada owns a boat", "Ada owns the boat, a boat")
    opened.set_policy(STORE_TIME)
    assert opened.dedupe()["asked"] == {}
