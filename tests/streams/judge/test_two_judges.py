"""Two judges: what the first may settle, what goes on to the second, and what is recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts import policy
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Settled
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.jobs.questions import open_questions, settle
from palimpsest.streams.judge.certificate import CertifiedAnswer, JudgeCertificate, read_certificate
from palimpsest.streams.judge.pairs import JudgedPair
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.judge.protocols.decisions import SystemOne
from palimpsest.streams.judge.settings import FirstJudgeSettings, JudgeSettings
from palimpsest.streams.judge.storage import FILE, FIRST_FILE, SPENT
from palimpsest.streams.judge.two_judges import TwoJudges, open_judge
from palimpsest.streams.judge.worker import Tally
from palimpsest.streams.policies import load_policy
from tests.streams.judge.asking import BEGIN, pair
from tests.streams.judge.test_worker import ASKING, GRAY, Store

SAME = pair("Ada has a big dog.", "ada has a big dog", "s")
APART = pair("Ada has a dog.", "The build runs at night.", "d")
UPDATE = pair("The timeout is 30 s.", "The timeout is 60 s.", "u")
MODEL = "cheap-1"


@pytest.fixture
def cheap(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """The first judge's service: it speaks System One, and is 96 % sure of everything."""
    monkeypatch.setenv("TYPESAFE_API_KEY", "test")
    with JudgeServer() as running:
        yield running


def prompt_id(name: Any = "compare-same") -> str:
    exchange = SystemOne(FirstJudgeSettings(protocol="systemone", base_url="http://x", model="m"))
    return exchange.form(prompt(name)).id


def threshold(at: float) -> CertifiedAnswer:
    return CertifiedAnswer(
        threshold=at,
        budget=0.005,
        taken=700,
        wrong=0,
        held_out_taken=690,
        held_out_wrong=1,
        held_out_bound=0.007,
    )


def certificate(**changed: Any) -> JudgeCertificate:
    """Both thresholds are within what the stand-in is sure of."""
    made: dict[str, Any] = {
        "model": MODEL,
        "prompt": prompt_id(),
        "data": "sha256:labels",
        "date": "2026-11-28",
        "confidence": 0.95,
        "labels": 2000,
        "policy": "sha256:policy",
        "embedder": "all-MiniLM-L6-v2/onnx",
        "guard": "sha256:guard",
        "same": threshold(0.95),
        "different": threshold(0.05),
    }
    return JudgeCertificate(**made | changed)


class Two:
    """Two judges in a folder, opened for one question at a time."""

    def __init__(self, folder: Path, cheap: JudgeServer, server: JudgeServer) -> None:
        self.folder, self.cheap, self.server = folder, cheap, server
        self.first: dict[str, Any] = {"protocol": "systemone", "model": MODEL}
        self.second: dict[str, Any] = {}
        self.rules = policy.Judge(ask="same")

    def certified(self, made: JudgeCertificate | None = None) -> Two:
        file = self.folder / "first.json"
        file.write_text((made or certificate()).model_dump_json())
        self.first["certificate"] = file
        return self

    @property
    def settings(self) -> JudgeSettings:
        common = {"retries": 0, "calls_per_second": 1000}
        first = FirstJudgeSettings(base_url=self.cheap.url, **common | self.first)
        return JudgeSettings(base_url=self.server.url, first=first, **common | self.second)

    def compare(self, *pairs: JudgedPair) -> list[Verdict]:
        return self.compare_often([pairs])[0]

    def compare_often(self, asked: Sequence[Sequence[JudgedPair]]) -> list[list[Verdict]]:
        async def compared() -> list[list[Verdict]]:
            judge = open_judge(self.folder, self.rules, self.settings, lambda: BEGIN)
            assert isinstance(judge, TwoJudges)
            async with judge:
                found = [await judge.compare(pairs) for pairs in asked]
                spent = [cost for verdicts in found for v in verdicts for cost in costs(v)]
                assert judge.cost.calls == pytest.approx(sum(spent))
                return found

        return asyncio.run(compared())

    @property
    def calls(self) -> tuple[int, int]:
        return self.cheap.calls, self.server.calls


def costs(verdict: Verdict) -> list[float]:
    return [said.calls or 0.0 for said in (verdict, verdict.first) if said is not None]


@pytest.fixture
def two(tmp_path: Path, cheap: JudgeServer, server: JudgeServer) -> Two:
    return Two(tmp_path, cheap, server)


# -- what settles --------------------------------------------------------------------------------


def test_without_a_certificate_the_first_settles_nothing(
    two: Two, caplog: pytest.LogCaptureFixture
) -> None:
    verdicts = two.compare(SAME, APART)
    assert [verdict.answer for verdict in verdicts] == ["same", "different"]
    assert two.calls == (1, 1)
    for verdict, probability in zip(verdicts, (0.96, 0.04), strict=True):
        assert (verdict.model, verdict.protocol) == (two.rules.model, "anthropic")
        assert verdict.certificate is None
        assert verdict.first is not None
        assert (verdict.first.model, verdict.first.protocol) == (MODEL, "systemone")
        assert verdict.first.answer == verdict.answer
        assert verdict.first.probability == pytest.approx(probability)
    assert "has no certificate" in caplog.text


def test_certified_answers_settle_without_the_second(two: Two) -> None:
    verdicts = two.certified().compare(SAME, APART)
    assert [verdict.answer for verdict in verdicts] == ["same", "different"]
    assert two.calls == (1, 0)
    assert {verdict.model for verdict in verdicts} == {MODEL}
    assert {verdict.certificate for verdict in verdicts} == {"sha256:labels"}
    assert [verdict.probability for verdict in verdicts] == pytest.approx([0.96, 0.04])


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ({"different": None}, {"same"}),
        ({"same": None}, {"different"}),
        ({"same": threshold(0.97)}, {"different"}),
        ({"different": threshold(0.04)}, {"same"}),
        ({"model": "cheap-2"}, set()),
        ({"prompt": prompt_id("compare-relation")}, set()),
    ],
)
def test_each_answer_has_a_threshold_of_its_own(
    two: Two, changed: dict[str, Any], first: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    verdicts = two.certified(certificate(**changed)).compare(SAME, APART)
    assert {verdict.answer for verdict in verdicts if verdict.certificate} == first
    assert all((verdict.first is None) == (verdict.answer in first) for verdict in verdicts)
    assert caplog.text.count("settle nothing") == (not first)


def test_what_would_change_a_text_goes_on(two: Two) -> None:
    two.rules = policy.Judge(ask="relation")
    made = certificate(prompt=prompt_id("compare-relation"), different=threshold(1.0))
    [verdict] = two.certified(made).compare(UPDATE)
    assert (verdict.answer, verdict.certificate) == ("update", None)
    assert verdict.first is not None
    assert verdict.first.answer == "update"
    assert two.calls == (1, 2)  # the second is asked in both orders


ANSWERS: tuple[Answer, ...] = ("same", "different", "update", "compose", "unusable", "unavailable")
THRESHOLDS = (None, 0.05, 0.5, 0.95)


def test_an_answer_settles_by_its_own_threshold_and_model_alone() -> None:
    settled = 0
    for same, different in product(THRESHOLDS, THRESHOLDS):
        made = certificate(
            prompt="same@1",
            same=None if same is None else threshold(same),
            different=None if different is None else threshold(different),
        )
        for answer, probability, model, asked in product(
            ANSWERS,
            (None, 0.0, 0.04999, 0.05, 0.94994, 0.94996, 0.95, 1.0),
            (MODEL, "cheap-2", None),
            ("same@1", "same@2", None),
        ):
            verdict = Verdict(
                neighbour_id="a", answer=answer, probability=probability, model=model, prompt=asked
            )
            expected = (model, asked) == (MODEL, "same@1") and probability is not None
            if answer == "same":
                expected = expected and same is not None and round(probability or 0, 4) >= same
            elif answer == "different":
                four = round(probability or 0, 4)
                expected = expected and different is not None and four < different
            else:
                expected = False
            assert made.settles(verdict) is expected, verdict
            settled += expected
    assert settled > 50


# -- each has its own ----------------------------------------------------------------------------


def test_each_has_its_own_budget(two: Two) -> None:
    two.first["daily_calls"] = 0
    [verdict] = two.certified().compare(SAME)
    assert verdict.model == two.rules.model
    assert verdict.first is not None
    assert (verdict.first.answer, verdict.first.reasoning) == ("unavailable", SPENT)
    two.first["daily_calls"], two.second["daily_calls"] = 1, 0
    settled, left = two.certified(certificate(different=None)).compare(SAME, APART)
    assert (settled.answer, settled.certificate) == ("same", "sha256:labels")
    assert (left.answer, left.reasoning) == ("unavailable", SPENT)


def test_each_has_its_own_cache(two: Two) -> None:
    two.compare(SAME, APART)
    [again, _] = two.certified(certificate(different=None)).compare(SAME, APART)
    assert two.calls == (1, 1)
    assert (again.calls, again.certificate) == (0, "sha256:labels")
    (two.folder / FIRST_FILE).unlink()
    two.compare(APART)
    assert two.calls == (2, 1)
    assert (two.folder / FILE).exists()


def test_a_first_that_is_away_keeps_nobody_waiting(two: Two) -> None:
    two.cheap.always = Fault(500)
    asked = two.certified().compare_often([[SAME], [APART]])
    assert [verdict.answer for [verdict] in asked] == ["same", "different"]
    assert two.calls == (1, 2)
    assert asked[0][0].first is not None
    assert asked[1][0].first is None


def test_what_the_first_answers_in_no_form_goes_on(two: Two) -> None:
    two.cheap.always = Fault(change=lambda body: body | {"answers": {}})
    [verdict] = two.certified().compare(SAME)
    assert verdict.answer == "same"
    assert verdict.first is not None
    assert verdict.first.answer == "unusable"


@pytest.mark.parametrize("content", [None, b"[]", b'{"model": "m"}', b"\xff"])
def test_a_certificate_that_cannot_be_read_ends_the_run(two: Two, content: bytes | None) -> None:
    file = two.folder / "first.json"
    if content is not None:
        file.write_bytes(content)
    two.first["certificate"] = file
    with pytest.raises(UsageError, match="calibrate"):
        two.compare(SAME)
    assert two.calls == (0, 0)


def test_a_certificate_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "first.json"
    file.write_bytes(orjson.dumps(certificate().model_dump(mode="json")))
    assert read_certificate(file) == certificate()


# -- in a store ----------------------------------------------------------------------------------


@pytest.mark.parametrize("certified", [False, True])
def test_the_log_shows_what_both_said(two: Two, certified: bool) -> None:
    checks = tuple(
        ASKING if check.check == "cosine" else check for check in load_policy("standard").checks
    )
    store = Store(two.folder, load_policy("standard").model_copy(update={"checks": checks}))
    store.say(*GRAY)
    if certified:
        two.certified(certificate(prompt=prompt_id("compare-relation")))

    async def settled() -> Tally:
        async with open_questions(store.opened) as questions:
            return await settle(questions, store.folder, two.settings, asyncio.Event(), once=True)

    tally = asyncio.run(settled())
    assert (tally.questions, tally.calls, tally.first) == (1, 1 if certified else 4, certified)
    [verdict] = [
        verdict
        for one in store.reader.log.after(0, 10**6)
        if isinstance(one.event, Settled)
        for verdict in one.event.data.evidence.verdicts
    ]
    if certified:
        assert (verdict.model, verdict.certificate) == (MODEL, "sha256:labels")
    else:
        assert verdict.model == "claude-haiku-5-5"
        assert verdict.first is not None
        assert verdict.first.model == MODEL


def test_nothing_is_logged_of_a_text(two: Two, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "palimpsest")
    two.compare(SAME)
    assert "big dog" not in caplog.text
