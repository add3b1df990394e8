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


def test_what_does_not_answer_in_form_is_named(
    palimpsest: CommandLine, server: JudgeServer
) -> None:
    server.always = Fault(change=lambda body: body | {"stop_reason": "refusal", "content": []})
    found = findings(palimpsest, status=1)
    assert "the model refused (20)" in found["form"]["detail"]


@pytest.mark.parametrize(
    ("status", "told"), [(401, "ANTHROPIC_API_KEY"), (404, "no model"), (500, "status 500")]
)
def test_a_service_that_does_not_serve_is_the_only_finding(
    palimpsest: CommandLine, server: JudgeServer, status: int, told: str
) -> None:
    server.always = Fault(status)
    found = findings(palimpsest, status=1)
    assert [*found] == ["service"]
    assert told in found["service"]["detail"]


def test_it_asks_about_two_texts(palimpsest: CommandLine, server: JudgeServer) -> None:
    words = ("judge", "doctor", "--against", "The timeout is 30 s.", "The timeout is 60 s.")
    verdict = palimpsest.json(*words)
    assert (verdict["answer"], verdict["calls"]) == ("update", 2)
    assert "update" in palimpsest(*words).out
    server.always = Fault(500)
    assert palimpsest.json(*words, status=1)["answer"] == "unavailable"
