"""What the judge is asked is read from what the store has in memory."""

from __future__ import annotations

import gc
from pathlib import Path
from unittest.mock import Mock

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as api
from palimpsest.contracts.errors import ModelError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requests import SettleRequest
from palimpsest.jobs.questions import TableReading
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.judge.verifier import Undecided, request_id
from palimpsest.streams.judge.worker import AnsweredQuestion
from palimpsest.streams.policies import load_policy
from tests.stub_engine import StubEngine, load_stub


@pytest.mark.usefixtures("set_aside")
def test_questions_are_read_from_the_ledgers_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with a judge would keep every owner with questions twice."""
    monkeypatch.setattr(api, "load_engine", load_stub)
    with Palimpsest.open(tmp_path) as store:
        for text in ("she has a large brown dog", "she has a large brown cat"):
            store.submit({"owner_id": "who is asked about", "text": text})
        reading = TableReading(store.writer)
        assert len(reading.take(9)) == 1
        store.submit({"owner_id": "who is asked about", "text": "she has a large brown cow"})
        assert len(reading.take(9)) == 1
        gc.collect()
        ledgers = [one for one in gc.get_objects() if type(one) is Ledger]
        assert [one.owner_id for one in ledgers].count("who is asked about") == 1


def test_a_question_left_pending_is_not_taken_again_and_forgotten_once_it_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verifier that runs for months would keep an id of each."""
    monkeypatch.setattr(api, "load_engine", load_stub)
    with Palimpsest.open(tmp_path, by="person") as store:

        def submit(text: str) -> str:
            return str(store.submit({"owner_id": "ada", "text": text})[0].candidate_id)

        older, newer = (submit(f"she has a large brown {animal}") for animal in ("dog", "cat"))
        reading = TableReading(store.writer)
        [question] = reading.take(9)
        reading.deliver([AnsweredQuestion(question, Undecided("unusable", ()))])
        for text in ("otters swim", "bees hum", "ferries leave"):
            submit(text)
            assert reading.take(9) == []
            assert len(reading._left) == 1
        store.separate(older, newer)
        for text in ("tulips bloom", "rivers rise"):
            submit(text)
            assert reading.take(9) == []
        assert reading._left == set()


def test_a_question_whose_composed_text_had_no_model_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs nothing: the judge's answers are cached."""
    monkeypatch.setattr(api, "load_engine", load_stub)
    policy = load_policy("standard").model_copy(update={"embedder_fails": "store"})
    with Palimpsest.open(tmp_path, policy=policy) as store:
        older, newer = (
            str(store.submit({"owner_id": "ada", "text": f"she has a {size} dog"})[0].candidate_id)
            for size in ("large brown", "large black")
        )
        reading = TableReading(store.writer)
        [question] = reading.take(9)
        request = SettleRequest(
            request_id=request_id(question.question),
            candidate_id=newer,
            composed="she has a brown dog and a black one",
            verdicts=(Verdict(neighbour_id=older, answer="compose"),),
        )
        answered = [AnsweredQuestion(question, request)]
        with monkeypatch.context() as down:
            down.setattr(StubEngine, "embed", Mock(side_effect=ModelError("unplugged")))
            assert reading.deliver(answered) == {"refused: embedder_down": 1}
            assert reading.take(9) == []
            assert reading.is_at_end()
        store.submit({"owner_id": "bob", "text": "otters swim"})
        assert len(reading.take(9)) == 1
