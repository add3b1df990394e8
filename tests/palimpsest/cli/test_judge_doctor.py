"""`judge doctor`: what it tries, and when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.jobs.judge_doctor import PAIRS
from tests.palimpsest.cli.conftest import CommandLine

WORKS = {
    "anthropic": {"service", "model", "form"},
    "openai-chat": {"service", "model", "form", "probability"},
    "openai-decisions": {"service", "model", "form", "probability"},
    "systemone": {"service", "model", "form", "probability"},
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TYPESAFE_API_KEY"):
        monkeypatch.setenv(key, "test")
    monkeypatch.setenv("PALIMPSEST_JUDGE_RETRIES", "0")
    with JudgeServer() as running:
        monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", running.url)
        yield running


def findings(palimpsest: CommandLine, status: int) -> dict[str, dict[str, Any]]:
    told = palimpsest.json("judge", "doctor", status=status)
    assert told["healthy"] == (status == 0)
    return {finding["name"]: finding for finding in told["findings"]}


@pytest.mark.parametrize("protocol", WORKS)
def test_a_judge_of_any_protocol_is_tried(
    palimpsest: CommandLine, server: JudgeServer, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", protocol)
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "judge-5")
    # The rules of the stand-in know no synonyms: pairs that they miss are wrong answers.
    found = findings(palimpsest, status=1)
    assert {name for name, one in found.items() if one["found"]} >= WORKS[protocol]
    assert found["model"]["detail"] == "judge-5"
    assert found["form"]["detail"] == f"{2 * len(PAIRS)} of {2 * len(PAIRS)} answers can be used"
    assert not found["answers"]["found"]
    assert server.calls == 2
    assert "✗ answers:" in palimpsest("judge", "doctor").out


CUT_OFF = {"choices": [{"message": {"content": '{"answers": ['}, "finish_reason": "length"}]}


def written(content: str | None) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


def in_prose(text: str) -> dict[str, Any]:
    return {"stop_reason": "end_turn", "content": [{"type": "text", "text": text}]}


FENCED = '```json\n{"answers": []}\n```'
UNUSABLE = [
    ("anthropic", {"stop_reason": "refusal"}, "the model refused", "refuses to compare"),
    ("anthropic", {"stop_reason": "max_tokens", "content": []}, "cut off", "larger context"),
    ("openai-chat", CUT_OFF, "cut off", "larger context"),
    ("openai-chat", written("<think>same</think>{}"), "thought in its answer", "apart"),
    ("openai-chat", written("same</think>{}"), "thought in its answer", "apart"),
    ("openai-chat", written(FENCED), "fenced as code", "without a fence"),
    ("openai-chat", written(None), "was empty", "turn its thinking off"),
    (
        "openai-chat",
        written("They are the same."),
        "not answer as it was asked",
        "follows a schema",
    ),
    ("anthropic", in_prose("<think>same</think>"), "thought in its answer", "apart"),
    ("anthropic", in_prose(FENCED), "fenced as code", "without a fence"),
    ("anthropic", in_prose("same"), "not answer as it was asked", "follows a schema"),
    ("anthropic", {"content": []}, "was empty", "turn its thinking off"),
    ("openai-decisions", {"answers": []}, "no usable answer", "docs/judge.md"),
    ("systemone", {"answers": {}}, "no usable answer", "docs/judge.md"),
]


FIRST = {told: case for case in reversed(UNUSABLE) for told in [case[2]]}


@pytest.mark.parametrize(
    ("protocol", "given", "told", "remedy"),
    [
        pytest.param(*case, marks=() if FIRST[case[2]] is case else pytest.mark.long)
        for case in UNUSABLE
    ],
)
def test_without_a_usable_answer_nothing_else_is_claimed(
    palimpsest: CommandLine,
    server: JudgeServer,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    given: dict[str, Any],
    told: str,
    remedy: str,
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", protocol)
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "judge-5")
    server.always = Fault(change=lambda body: body | given)
    found = findings(palimpsest, status=1)
    assert [*found] == ["service", "form"]
    assert found["form"]["detail"].startswith("0 of 20 answers can be used; ")
    assert told in found["form"]["detail"]
    assert remedy in found["form"]["remedy"]


def test_an_unusable_answer_counts_neither_as_right_nor_as_wrong(
    palimpsest: CommandLine, server: JudgeServer
) -> None:
    def without_the_first(body: dict[str, Any]) -> dict[str, Any]:
        [block] = body["content"]
        answers = [one for one in block["input"]["answers"] if one["pair"] != 1]
        return body | {"content": [block | {"input": {"answers": answers}}]}

    server.rule = lambda _: None if server.calls == 4 else Fault(change=without_the_first)
    found = findings(palimpsest, status=1)
    assert found["form"]["detail"].startswith("19 of 20 answers can be used")
    assert "of 19 are wrong" in found["answers"]["detail"]
    assert "of 9 pairs" in found["order"]["detail"]
    assert found["probability"]["detail"] == "0 of 19 answers have one"


NOT_SERVED = [
    (Fault(400), "20 of 20 pairs got no answer: status 400", "protocol and model"),
    (Fault(400, message="Your credit balance is too low"), "no credit", "pay the service"),
    (Fault(401), "ANTHROPIC_API_KEY", "docs/judge.md"),
    (Fault(402), "status 402", "pay the service"),
    (Fault(404), "no model", "docs/judge.md"),
    (Fault(429), "status 429", "calls_per_second"),
    (Fault(500), "status 500", "try again later"),
    (Fault(hang_up=True), "no connection", "base_url"),
    (Fault(body=b"<html>"), "it is not a message", "something else answers"),
]


@pytest.mark.parametrize(("fault", "told", "remedy"), NOT_SERVED)
def test_a_service_that_does_not_serve_is_the_only_finding(
    palimpsest: CommandLine, server: JudgeServer, fault: Fault, told: str, remedy: str
) -> None:
    server.always = fault
    found = findings(palimpsest, status=1)
    assert [*found] == ["service"]
    assert told in found["service"]["detail"]
    assert remedy in found["service"]["remedy"]
    printed = palimpsest("judge", "doctor").out
    assert told in printed
    assert remedy in printed


def test_a_spent_budget_is_no_fault_of_the_service(
    palimpsest: CommandLine, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_DAILY_CALLS", "1")
    found = findings(palimpsest, status=1)
    assert found["service"]["detail"] == (
        "10 of 20 pairs got no answer: the budget of this day is spent (10)"
    )
    assert "daily_calls" in found["service"]["remedy"]


def test_it_asks_about_two_texts(palimpsest: CommandLine, server: JudgeServer) -> None:
    words = ("judge", "doctor", "--against", "The timeout is 30 s.", "The timeout is 60 s.")
    verdict = palimpsest.json(*words)
    assert (verdict["answer"], verdict["calls"]) == ("update", 2)
    assert "update" in palimpsest(*words).out
    server.always = Fault(500)
    assert palimpsest.json(*words, status=1)["answer"] == "unavailable"
