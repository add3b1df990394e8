"""Another embedding model for a store: embedded, interrupted, switched to, and earlier states."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.contracts.errors import ModelError, RefusedError, UsageError
from palimpsest.contracts.events import Embedded
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import AddVectorsRequest, TextVector
from palimpsest.jobs import embed
from palimpsest.streams.embedder import DEFAULT_MODEL, ModelNotFound
from palimpsest.streams.policies import load_policy
from tests.stub_engine import OtherStub, StubEngine, load_stub

OTHER = OtherStub.model
ROOT = Path(__file__).parents[3]
FIRST = "every winter evening since the move two cats sleep indoors on our old sofa until dawn"
SAME = f"{FIRST}."
TEXTS = [FIRST, "the red mill has a blue door", "tea before noon, never after it"]
STANDARD = load_policy("standard")


def rows(*texts: str, owner: str = "ann") -> list[dict[str, str]]:
    return [{"owner_id": owner, "text": text} for text in texts]


def rules(**others: object) -> Policy:
    return STANDARD.model_copy(update={"model": OTHER, **others})


def vectors(memories: Palimpsest) -> list[Embedded]:
    log = memories.reader.log
    return [
        one.event for owner in log.owners() for one in log.of_owner(owner)
        if isinstance(one.event, Embedded)
    ]  # fmt: skip


def test_recall_follows_the_switch_and_looks_back_before_it(memories: Palimpsest) -> None:
    memories.submit(rows(*TEXTS))
    question = "wint even cats"  # beginnings of words, which only the other model sees
    before = memories.recall("ann", question, k=3)
    memories.embed_with(OTHER)
    assert memories.recall("ann", question, k=3) == before, "beside: nothing reads them"
    position = memories.status()["position"]
    memories.switch_model(OTHER, policy=rules())
    after = memories.recall("ann", question, k=1)
    assert after[0]["face"] == FIRST
    assert after[0]["score"] > before[0]["score"]
    assert memories.recall("ann", question, k=3, as_of=position) == before
    with Palimpsest.open(memories.folder) as again:  # so that its ledgers are folded from the log
        assert again.recall("ann", question, k=1) == after
        assert again.recall("ann", question, k=3, as_of=position) == before
    assert memories.verify()["differences"] == 0
    rebuilt = memories.rebuild()
    assert {name: one["differences"] for name, one in rebuilt.items()} == {
        "lancedb": 0,
        "duckdb": 0,
    }


def test_a_policy_for_another_model_delivered_again_is_answered_as_it_was(
    memories: Palimpsest,
) -> None:
    memories.submit(rows(*TEXTS))
    memories.embed_with(OTHER)
    name = str(uuid4())
    with name_request(name):
        first = memories.set_policy(rules())
        position = memories.position
        assert memories.set_policy(rules()) == first
        with pytest.raises(RefusedError, match="id_conflict"):
            memories.set_policy(STANDARD)
    assert memories.position == position


def test_a_join_of_the_old_model_is_taken_back_after_the_switch(memories: Palimpsest) -> None:
    [first, _, _] = memories.submit(rows(*TEXTS))
    [joined] = memories.submit(rows(SAME))
    assert joined.joined_to == first.candidate_id
    memories.embed_with(OTHER)
    memories.switch_model(OTHER, policy=rules())
    memories.drop_old_vectors()
    assert joined.decision_id is not None
    parts = memories.unmerge(decision_id=joined.decision_id)["memories"]
    assert sorted(one["face"] for one in parts) == [FIRST, SAME]
    assert memories.verify()["differences"] == 0


def test_a_run_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text is embedded twice over any number of runs; the store is reopened after each."""
    monkeypatch.setattr(embed, "AT_ONCE", 4)
    texts = [f"note {number} about the mill" for number in range(10)]
    with Palimpsest.open(tmp_path / "store") as memories:
        memories.submit(rows(*texts))

    def dies(done: int, _left: int) -> None:
        raise KeyboardInterrupt if done else AssertionError

    left = []
    for _ in range(2):
        with Palimpsest.open(tmp_path / "store") as memories, pytest.raises(KeyboardInterrupt):
            memories.embed_with(OTHER, progress=dies)
        with Palimpsest.open(tmp_path / "store") as memories:
            left.append(memories.plan_embedding(OTHER)["left"])
            with pytest.raises(RefusedError, match=f"missing for {left[-1]} text"):
                memories.switch_model(OTHER)
    assert left == [6, 2]
    with Palimpsest.open(tmp_path / "store") as memories:
        assert memories.embed_with(OTHER) == {"model": OTHER, "embedded": 2, "left": 0}
        counted = Counter(event.data.candidate_id for event in vectors(memories))
        assert (len(counted), counted.total()) == (10, 10)
        assert memories.embed_with(OTHER)["embedded"] == 0
        memories.switch_model(OTHER)


def test_the_plan_foresees_the_bytes_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "store" / "log.sqlite"
    with Palimpsest.open(tmp_path / "store") as memories:
        memories.submit(rows(*(f"note {n} of {n * 7} mills" for n in range(600))))
    before = log.stat().st_size
    with Palimpsest.open(tmp_path / "store") as memories:
        plan = memories.plan_embedding("same length", embedder=wide)
        memories.embed_with("same length", embedder=wide)
    assert plan["left"] == 600
    assert 0.8 < (log.stat().st_size - before) / plan["bytes"] < 1.2


def wide(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), *([1.0] * 383)] for text in texts]


KILLED = """
import os, signal, sys
from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.jobs import embed
from tests.stub_engine import load_stub

store.load_engine, embed.AT_ONCE = load_stub, 4
with Palimpsest.open(sys.argv[1]) as memories:
    memories.embed_with("other", progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_killed_process_leaves_whole_batches(memories: Palimpsest) -> None:
    memories.submit(rows(*(f"note {number} about the mill" for number in range(10))))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(memories.folder)], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(vectors(memories)) == 4
    assert memories.embed_with(OTHER) == {"model": OTHER, "embedded": 6, "left": 0}
    memories.switch_model(OTHER)
    assert memories.verify()["differences"] == 0


def test_a_vector_that_comes_twice_is_recorded_once(memories: Palimpsest) -> None:
    """Two concurrent runs ask for the same texts."""
    memories.submit(rows(*TEXTS))
    memories.embed_with(OTHER)
    [first, *_] = vectors(memories)
    again = AddVectorsRequest(
        request_id=str(uuid4()),
        owner_id="ann",
        vectors=(TextVector(candidate_id=first.data.candidate_id, vector=first.data.vector),),
    )
    assert memories.writer.ask(again) == {"added": 0, "events": []}
    assert len(vectors(memories)) == len(TEXTS)


def test_texts_without_a_vector_have_one_after_the_switch(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the old model is down for good, moving to another one is the remedy."""

    def load(model: str, *_: object, **__: object) -> StubEngine:
        if model == OTHER:
            return OtherStub()
        raise ModelNotFound("its server is gone")

    monkeypatch.setattr(store, "load_engine", load)
    policy = STANDARD.model_copy(update={"embedder_fails": "store"})
    with Palimpsest.open(tmp_path / "down", policy=policy) as down:
        down.submit(rows(*TEXTS))
        assert down.status()["unembedded"] == len(TEXTS)
        down.embed_with(OTHER)
        assert down.status()["unembedded"] == len(TEXTS), "by the model in force"
        down.switch_model(OTHER)
        assert down.status()["unembedded"] == 0
        assert down.recall("ann", "wint even cats", k=1)[0]["face"] == FIRST
        assert down.verify()["differences"] == 0
    assert memories.status()["unembedded"] == 0


def test_long_and_composed_texts_move_with_the_others(memories: Palimpsest) -> None:
    composing = load_policy("replace-or-merge")
    unasked = composing.judge.model_copy(update={"enabled": False})
    composing = composing.model_copy(update={"judge": unasked})
    memories.set_policy(composing)
    long = " ".join(f"word{number}" for number in range(200))
    memories.submit(rows(*TEXTS, long))
    memories.embed_with(OTHER)
    by_text = {event.data.candidate_id: event.data.vector for event in vectors(memories)}
    assert sorted(len(vector.each()) > 1 for vector in by_text.values()) == [False] * 3 + [True]
    memories.switch_model(OTHER, policy=composing.model_copy(update={"model": OTHER}))
    assert memories.recall("ann", "word190 word191 word192", k=1)[0]["face"] == long


def test_wrong_calls_say_what_to_do(memories: Palimpsest) -> None:
    memories.submit(rows(*TEXTS))
    with pytest.raises(UsageError, match="is the model in force"):
        memories.embed_with(DEFAULT_MODEL)
    with pytest.raises(RefusedError, match="in force already"):
        memories.switch_model(DEFAULT_MODEL)
    memories.embed_with(OTHER)
    with pytest.raises(UsageError, match="calibrate"):
        memories.switch_model(OTHER, policy="standard")
    assert memories.policy.model == DEFAULT_MODEL


# -- what is configured --------------------------------------------------------------------------


def test_another_configured_model_is_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Palimpsest.open(tmp_path / "store") as memories:
        memories.submit(rows(*TEXTS))
    with Palimpsest.open(tmp_path / "store", model=OTHER) as memories:
        [told] = caplog.messages
        assert "compares vectors of all-MiniLM-L6-v2, and other is configured" in told
        memories.submit(rows("a text more"))  # by the model in force
        memories.embed_with(OTHER)
        memories.switch_model(OTHER)
        memories.submit(rows("and another"))  # the process goes on
    caplog.clear()
    with Palimpsest.open(tmp_path / "store", model=OTHER):
        assert caplog.messages == []
    with Palimpsest.open(tmp_path / "store") as memories:  # nothing configured: the one in force
        assert memories.submit(rows("and one more"))[0].decision == "stored"
        assert caplog.messages == []


def test_a_model_that_is_missing_is_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with Palimpsest.open(tmp_path / "store", model=str(tmp_path / "models" / "gone")):
        [told] = caplog.messages
    assert "is not there: put the model's files back" in told


def test_without_the_model_in_force_the_error_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Palimpsest.open(tmp_path / "store") as memories:
        memories.submit(rows(*TEXTS))
        memories.embed_with(OTHER)
        memories.switch_model(OTHER)

    def load(model: str, *_: object, **__: object) -> StubEngine:
        if model == OTHER:
            raise ModelNotFound("there is no such model")
        return load_stub()

    monkeypatch.setattr(store, "load_engine", load)
    with (
        Palimpsest.open(tmp_path / "store", model=DEFAULT_MODEL) as memories,
        pytest.raises(ModelError, match=r"set `model` \(PALIMPSEST_MODEL\) to other"),
    ):
        memories.submit(rows("a text more"))


# -- a function as embedder ----------------------------------------------------------------------


def letters(texts: list[str]) -> list[list[float]]:
    """Counts of letters, which are neither unit vectors nor float16."""
    return [[float(text.lower().count(letter)) + 0.1 for letter in "abcdefgh"] for text in texts]


def test_a_function_embeds_and_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return letters(texts)

    policy = STANDARD.model_copy(update={"model": "letters"})
    with Palimpsest.open(
        tmp_path / "store", policy=policy, model="letters", embedder=counting
    ) as memories:
        memories.submit(rows(*TEXTS))
        assert memories.recall("ann", FIRST, k=1)[0]["score"] == 1.0
    told = len(asked)
    with Palimpsest.open(
        tmp_path / "store", model="letters", embedder=counting, by="person"
    ) as memories:
        assert memories.verify()["differences"] == 0
        memories.rebuild()
        assert len(asked) == told, "the log has every vector"
    with pytest.raises(UsageError, match="the name to record"):
        Palimpsest.open(tmp_path / "other", embedder=counting)


def test_a_store_moves_to_a_function(memories: Palimpsest) -> None:
    memories.submit(rows(*TEXTS))
    memories.embed_with("letters", embedder=letters)
    [one, *_] = vectors(memories)
    assert (one.data.vector.model, one.data.vector.engine, one.data.ahead) == (
        "letters",
        "function",
        True,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda _: [[1.0, 2.0]],
        lambda texts: [[0.0] * 4 for _ in texts],
        lambda texts: [[float("nan")] * 4 for _ in texts],
        lambda texts: ["no numbers" for _ in texts],
        lambda texts: np.ones((len(texts), 3 + len(texts))),
    ],
)
def test_a_function_that_returns_no_vectors_is_refused(memories: Palimpsest, wrong: object) -> None:
    memories.submit(rows(*TEXTS))
    with pytest.raises(ModelError, match="mine returned"):
        memories.embed_with("mine", embedder=wrong)  # type: ignore[arg-type]
    assert not vectors(memories)


# -- backtest ------------------------------------------------------------------------------------


def test_a_backtest_uses_the_recorded_vectors_of_another_model(
    memories: Palimpsest, tmp_path: Path
) -> None:
    """It predicts what a store with the other model from the beginning does."""
    near = "every wintry even since the move two cats sleep indoors on our old sofas until dawns"
    said = rows(*TEXTS, near, SAME)
    decided = [outcome.decision for outcome in memories.submit(said)]
    with Palimpsest.open(tmp_path / "all along", policy=rules(), model=OTHER) as other:
        would = [outcome.decision for outcome in other.submit(said)]
    assert decided != would
    with pytest.raises(UsageError, match="palimpsest embed --model other"):
        memories.backtest(rules())
    memories.embed_with(OTHER)
    for _ in range(2):  # before the switch, and after it: the history is the same
        found = memories.backtest(rules())
        changed = {(one["was"], one["would_be"]): one["count"] for one in found["changes"]}
        assert changed == Counter(
            (was, then) for was, then in zip(decided, would, strict=True) if was != then
        )
        if memories.policy.model != OTHER:
            memories.switch_model(OTHER, policy=rules())


@pytest.mark.parametrize("model", ["", " "])
def test_a_model_has_a_name(tmp_path: Path, model: str) -> None:
    with Palimpsest.open(tmp_path / "new") as store:
        for call in (store.switch_model, store.embed_with, store.plan_embedding):
            with pytest.raises(UsageError, match="model"):
                call(model)
        assert store.policy.model == DEFAULT_MODEL
