"""The verifier: its options and settings, and that it gives way to the deciding process."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from palimpsest.cli import invocation
from palimpsest.cli.commands import judge
from palimpsest.cli.commands.judge import NICENESS, lower_priority
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts import policy
from palimpsest.jobs import questions
from palimpsest.process import logs
from palimpsest.streams.judge import batching, worker
from palimpsest.streams.judge.judge import LOCAL_ONLY, Judge
from palimpsest.streams.judge.settings import JudgeSettings
from tests.palimpsest.cli.conftest import ASKS_ALL, CommandLine, Row

Clock = Callable[[], datetime]

posix = pytest.mark.skipif(sys.platform == "win32", reason="no niceness there")


@posix
@pytest.mark.parametrize(("before", "after"), [(0, NICENESS), (5, NICENESS), (19, 19)])
def test_it_is_as_nice_as_it_should_be_and_never_less(
    before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    niceness = before

    def nice(by: int) -> int:
        nonlocal niceness
        niceness += by
        return niceness

    monkeypatch.setattr(os, "nice", nice)
    lower_priority()
    assert niceness == after


def test_the_command_does_so(
    palimpsest: CommandLine, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    gave: list[bool] = []
    monkeypatch.setattr(judge, "lower_priority", lambda: gave.append(True))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    palimpsest.ingest(row("nothing to ask about"))
    assert palimpsest.json("verifier", "--once")["questions"] == 0
    assert gave == [True]


def test_once_it_shows_progress_instead_of_a_line_per_decision(
    palimpsest: CommandLine, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []
    monkeypatch.setattr(logs, "log_to_standard_error", levels.append)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    palimpsest.ingest(row("nothing to ask about"))
    palimpsest.json("verifier", "--once")
    assert levels == [logging.WARNING]


def test_it_asks_as_the_settings_say(
    palimpsest: CommandLine, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[JudgeSettings] = []
    beside = Judge.beside

    def noted(
        folder: Path, rules: policy.Judge, settings: JudgeSettings, clock: Clock, **more: Any
    ) -> Judge:
        given.append(settings)
        return beside(folder, rules, settings, clock, **more)

    monkeypatch.setattr(Judge, "beside", noted)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setenv("PALIMPSEST_JUDGE_RETRIES", "0")
    palimpsest.ingest(row("nothing to ask about"))
    palimpsest.json("verifier", "--once")
    assert given == [JudgeSettings(retries=0)]


def test_it_batches_as_options_and_settings_say(
    palimpsest: CommandLine, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[batching.BatchSettings] = []

    class Noted(batching.Batcher):
        def __init__(self, settings: batching.BatchSettings) -> None:
            given.append(settings)
            super().__init__(settings)

    monkeypatch.setattr(questions, "Batcher", Noted)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setenv("PALIMPSEST_JUDGE_CONCURRENCY", "3")
    palimpsest.ingest(row("nothing to ask about"))
    palimpsest.json("verifier", "--once", "--patience", "7")
    assert [(one.concurrency, one.patience) for one in given] == [(3, 7.0)]


@pytest.mark.parametrize(("words", "once"), [((), False), (("--once",), True)])
def test_it_ends_when_nothing_waits_only_where_it_is_to(
    words: tuple[str, ...],
    once: bool,
    palimpsest: CommandLine,
    row: Row,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    async def run(_: worker.JudgeWorker, _stop: asyncio.Event, *, once: bool) -> worker.Tally:
        asked.append(once)
        return worker.Tally()

    monkeypatch.setattr(worker.JudgeWorker, "run", run)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda _: None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    palimpsest.ingest(row("nothing to ask about"))
    palimpsest.json("verifier", *words)
    assert asked == [once]


@pytest.mark.parametrize(
    ("words", "cluster", "folder", "in_topics"),
    [
        ((), False, "store", False),
        ((), True, ".palimpsest-verifier", True),
        (("--from-store",), True, "store", False),
        (("--data", "elsewhere"), False, "elsewhere", False),
        (("--data", "elsewhere"), True, "elsewhere", True),
    ],
)
def test_it_keeps_its_verdicts_with_the_store_or_beside_a_cluster(
    words: tuple[str, ...],
    cluster: bool,
    folder: str,
    in_topics: bool,
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[Path, bool]] = []

    async def run(
        _: invocation.Invocation, kept_in: Path, *, in_topics: bool, **_how: object
    ) -> tuple[worker.Tally, None]:
        ran.append((kept_in, in_topics))
        return worker.Tally(), None

    monkeypatch.setattr(judge, "_run_worker", run)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda _: None)
    named = ("--bootstrap", "broker:9092") if cluster else ()
    done = palimpsest.bare("--store", "store", *named, "verifier", *words)
    assert done.status == 0
    assert ran == [(Path(folder), in_topics)]


def test_without_a_store_it_leaves_none_behind(palimpsest: CommandLine) -> None:
    assert palimpsest.bare("--store", "missing", "verifier", "--once").status == 4
    assert not Path("missing").exists()


@pytest.mark.parametrize(("left", "status"), [([LOCAL_ONLY], 0), ([LOCAL_ONLY, "too long"], 1)])
def test_a_question_that_only_a_person_may_answer_is_no_failure(
    left: list[str], status: int, palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a nightly job would fail for ever."""

    async def run(*_: object, **_how: object) -> tuple[worker.Tally, None]:
        return worker.Tally(left=Counter(left)), None

    monkeypatch.setattr(judge, "_run_worker", run)
    monkeypatch.setattr(logs, "log_to_standard_error", lambda _: None)
    done = palimpsest.bare("--store", "store", "verifier", "--once")
    assert done.status == status
    assert LOCAL_ONLY in done.err


@pytest.mark.parametrize(
    ("fault", "settings", "told"),
    [
        (
            Fault(change=lambda message: message | {"content": []}),
            {},
            "left pending without a usable answer: 1 question, the answer was empty (1)",
        ),
        (
            Fault(500),
            {"RETRIES": "0"},
            "left to the policy's fallback: 1 pair, status 500 (1)",
        ),
        (
            None,
            {"DAILY_CALLS": "1"},
            "left to the policy's fallback: 1 pair, the budget of this day is spent (1)",
        ),
    ],
)
def test_what_it_leaves_unanswered_is_told_and_is_its_status(
    fault: Fault | None,
    settings: dict[str, str],
    told: str,
    palimpsest: CommandLine,
    row: Row,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name, value in settings.items():
        monkeypatch.setenv(f"PALIMPSEST_JUDGE_{name}", value)
    rules = tmp_path / "asks.toml"
    rules.write_text(ASKS_ALL)
    palimpsest.ingest(row("Ada has a dog"))
    palimpsest.json("policy", "set", str(rules))
    palimpsest.ingest(row("Ada has a cat"))
    with JudgeServer() as server:
        monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", server.url)
        if fault is None:
            assert palimpsest("verifier", "--once").status == 0
            palimpsest.ingest(row("Ada has a bird"))
        server.always = fault
        done = palimpsest("verifier", "--once", "--patience", "0")
    assert (done.status, done.err.splitlines()[-1]) == (1, told)


def test_the_log_says_who_answered_without_what_is_secret(
    palimpsest: CommandLine, row: Row, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Logged once per judge, however often a verifier starts; and the views can join it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "first-model")
    rules = tmp_path / "asks.toml"
    rules.write_text(ASKS_ALL)
    palimpsest.ingest(row("Ada has a dog"))
    palimpsest.json("policy", "set", str(rules))
    with JudgeServer() as server:
        secret = server.url.replace("http://", "http://ada:a-password@")
        monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", secret)
        for model, text in (
            ("first-model", "Ada has a cat"),
            ("first-model", "Ada has a bird"),
            ("second-model", "Ada has a fish"),
        ):
            monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", model)
            palimpsest.ingest(row(text))
            assert palimpsest.json("verifier", "--once")["questions"] == 1
            assert palimpsest.json("verifier", "--once")["questions"] == 0
        address = server.url
    exported = tmp_path / "log.jsonl"
    palimpsest("log", "export", str(exported))
    lines = exported.read_text()
    assert lines.count("palimpsest.judge_set.v1") == 2
    assert not any(word in lines for word in ("a-password", "a-key"))
    judges = palimpsest.json(
        "sql", "SELECT model, address, len(set_at) AS n FROM judges ORDER BY 1"
    )
    assert judges == [
        {"model": "first-model", "address": address, "n": 1},
        {"model": "second-model", "address": address, "n": 1},
    ]
    asked = "SELECT j.model, count(*) AS n FROM verdicts v JOIN judges j USING (judge) GROUP BY 1"
    verdicts = {one["model"]: one["n"] for one in palimpsest.json("sql", asked)}
    assert verdicts.keys() == {"first-model", "second-model"}
    findings = palimpsest.json("doctor")["findings"]
    [last] = [one["detail"] for one in findings if one["name"] == "last judge"]
    assert last.startswith(f"anthropic: second-model, {address}, since ")
    assert palimpsest.json("verify")["differences"] == 0
