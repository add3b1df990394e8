"""Who answers, as the log has it: everything that was configured, and nothing that is secret."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts import policy
from palimpsest.contracts.evidence import (
    Evidence,
    RecordedFirstJudge,
    RecordedJudge,
    Verdict,
)
from palimpsest.contracts.requests import (
    CombineRequest,
    ComposedText,
    ConfirmRequest,
    JudgedRequest,
    RunRequest,
    SettleRequest,
)
from palimpsest.streams.judge.own import OwnJudge
from palimpsest.streams.judge.pairs import Side
from palimpsest.streams.judge.recorded import origin, signed
from palimpsest.streams.judge.settings import FirstJudgeSettings, JudgeSettings
from palimpsest.streams.judge.two_judges import open_judge
from tests.streams.judge.asking import BEGIN, pair
from tests.streams.judge.stand_in import StandIn
from tests.streams.judge.test_two_judges import certificate

WHO = RecordedJudge(protocol="anthropic", model="m")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://api.example.com/v1/", "https://api.example.com"),
        ("https://ada:secret@API.example.com:8443/v1?key=secret#k", "https://api.example.com:8443"),
        ("http://gateway.example/secret/v1", "http://gateway.example"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
    ],
)
def test_of_an_address_only_the_origin_is_said(url: str, said: str) -> None:
    assert origin(url) == said


@pytest.fixture
def cheap(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("TYPESAFE_API_KEY", "test")
    with JudgeServer() as running:
        yield running


def asked(folder: Path, settings: JudgeSettings) -> tuple[RecordedJudge, list[Verdict]]:
    """Who answers, and what they say of a pair, of a composition, and in a review."""

    async def ask() -> tuple[RecordedJudge, list[Verdict]]:
        async with open_judge(folder, policy.Judge(), settings, lambda: BEGIN) as judge:
            both = pair("Ada has a big dog.", "ada has a big dog", "s")
            made = await judge.compose([both.older, both.newer])
            said = [*await judge.compare([both]), made.verdict, *await judge.review([both])]
            assert judge.by(policy.Judge()).recorded == judge.recorded
            return judge.recorded, said

    return asyncio.run(ask())


def test_one_judge_says_what_was_configured(server: JudgeServer, tmp_path: Path) -> None:
    settings = JudgeSettings(base_url=server.url, model="m", review_model="r")
    recorded, verdicts = asked(tmp_path, settings)
    assert recorded == RecordedJudge(
        protocol="anthropic", model="m", review_model="r", address=server.url
    )
    assert [verdict.judge for verdict in verdicts] == [recorded.hash] * 3
    again, cached = asked(tmp_path, settings)
    assert again == recorded
    assert [(verdict.judge, verdict.calls) for verdict in cached] == [(recorded.hash, 0)] * 3


def test_two_judges_are_one_to_the_log(cheap: JudgeServer, tmp_path: Path) -> None:
    file = tmp_path / "first.json"
    file.write_text(certificate().model_dump_json(), encoding="utf-8")
    first = FirstJudgeSettings(
        protocol="systemone", base_url=cheap.url, model="cheap-1", certificate=file
    )
    recorded, verdicts = asked(tmp_path, JudgeSettings(base_url=cheap.url, model="m", first=first))
    assert recorded.first == RecordedFirstJudge(
        protocol="systemone",
        model="cheap-1",
        address=cheap.url,
        certificate="sha256:labels",
        same=0.95,
        different=0.05,
    )
    assert [verdict.judge for verdict in verdicts] == [recorded.hash] * 3
    looser = certificate(different=None)
    file.write_text(looser.model_dump_json(), encoding="utf-8")
    other, _ = asked(tmp_path, JudgeSettings(base_url=cheap.url, model="m", first=first))
    assert other.hash != recorded.hash, "another threshold is another judge"


def test_a_function_is_known_by_its_name() -> None:
    judge = OwnJudge(lambda _older, _newer: "same", policy.Judge())
    [verdict] = asyncio.run(judge.compare([pair("a b", "c d", "x")]))
    assert (judge.recorded.protocol, judge.recorded.address) == ("python", None)
    assert verdict.judge == judge.recorded.hash


def said(judge: str | None) -> Verdict:
    return Verdict(neighbour_id=str(uuid4()), answer="same", judge=judge)


def requests(verdict: Verdict) -> list[JudgedRequest]:
    some: dict[str, Any] = {"request_id": str(uuid4())}
    text = ComposedText(sources=("a", "b"), text="a b", verdict=verdict)
    return [
        SettleRequest(**some, candidate_id="a", verdicts=(verdict,)),
        ConfirmRequest(**some, decision_id="d", rank="review", verdicts=(verdict,)),
        CombineRequest(
            **some,
            a="a",
            b="b",
            decision="llm_reject",
            face="keep",
            evidence=Evidence(policy="p", verdicts=(verdict,)),
        ),
        RunRequest(**some, owner_id="ann", step="dedupe", due=BEGIN, composed=(text,)),
    ]


def test_a_request_names_who_gave_its_verdicts() -> None:
    judge = StandIn(recorded=WHO)
    assert [signed(one, judge).judge for one in requests(said(WHO.hash))] == [WHO] * 4
    assert [signed(one, judge).judge for one in requests(said(None))] == [None] * 4
    silent = ConfirmRequest(request_id=str(uuid4()), decision_id="d")
    assert signed(silent, judge) is silent


def test_nobody_is_named_who_was_not_asked() -> None:
    """A text that stays local, of a remote judge."""
    judge = OwnJudge(lambda _older, _newer: "same", policy.Judge())
    both = pair("a b", "c d", "x")
    older = Side(both.older.candidate_id, both.older.text, both.older.moment, local=True)
    [verdict] = asyncio.run(judge.compare([type(both)(older, both.newer)]))
    assert (verdict.answer, verdict.judge) == ("unusable", None)
