"""A function as the judge: recorded as a model is, and no more trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.events import Settled
from palimpsest.streams.judge.settings import JudgeSettings
from tests.streams.judge.test_worker import BOATS
from tests.stub_engine import load_stub


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "store") as opened:
        for text in BOATS[:2]:
            opened.submit([{"owner_id": "ada", "text": text}])
        yield opened


def alike(older: str, newer: str) -> tuple[str, float]:
    assert (older, newer) == (BOATS[0], BOATS[1])
    return "same", 0.9


def test_its_answer_is_recorded_as_a_models(memories: Palimpsest) -> None:
    told = memories.ask_judge(judge=alike)
    assert (told["answers"], told["outcomes"]) == ({"same": 1}, {"settled": 1})
    assert (told["calls"], told["usd"], told["waiting"]) == (1, None, 0)
    [settled] = [
        one.event for one in memories.reader.log.after(0, 99) if isinstance(one.event, Settled)
    ]
    [verdict] = settled.data.evidence.verdicts
    assert (verdict.answer, verdict.probability) == ("same", 0.9)
    assert verdict.model == f"{__name__}.alike"
    assert (verdict.calls, verdict.cost_usd) == (1, None)
    assert verdict.seconds is not None
    assert memories.ask_judge(judge=alike)["questions"] == 0


@pytest.mark.parametrize(
    "said",
    [
        "yes",
        "compose",
        "unusable",
        None,
        5,
        ("same", 2),
        ("same", "0.9"),
        ("same", 0.5, 1),
        ["same"],
    ],
)
def test_what_it_may_not_say_decides_nothing(memories: Palimpsest, said: Any) -> None:
    told = memories.ask_judge(judge=lambda _older, _newer: said)
    assert (told["outcomes"], told["waiting"]) == ({}, 1)
    assert told["left"] == {"the function gave no usable answer": 1}


def test_what_it_raises_is_raised_and_the_question_waits(memories: Palimpsest) -> None:
    def broken(_older: str, _newer: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        memories.ask_judge(judge=broken)
    assert memories.ask_judge(judge=alike)["outcomes"] == {"settled": 1}


def test_a_service_settles_what_is_pending_too(memories: Palimpsest, server: JudgeServer) -> None:
    told = memories.ask_judge(judge=JudgeSettings(base_url=server.url))
    assert told["outcomes"] == {"settled": 1}
    assert server.calls > 0
