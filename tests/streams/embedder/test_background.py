"""The embedder's thread: in order, no text twice, errors to those who asked, and an end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, current_thread
from typing import Any

import numpy as np
import pytest

from palimpsest.streams.embedder import Embedder, Embedding, background


class Recording:
    """An engine that gives a text's length, and keeps what it was asked for."""

    name = "recording"
    model = "test"
    dimension = 1

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.threads: set[str] = set()
        self.go = Event()
        self.go.set()
        self.started = Event()

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.started.set()
        assert self.go.wait(30)
        self.threads.add(current_thread().name)
        self.asked.append(list(texts))
        if "poison" in texts:
            raise ValueError("poison")
        return [Embedding(np.array([len(text)], np.float16), False, ()) for text in texts]


@pytest.fixture
def engine() -> Recording:
    return Recording()


@pytest.fixture
def embedder(engine: Recording) -> Iterator[Embedder]:
    embedder = Embedder(engine, remembered=3)
    yield embedder
    engine.go.set()
    embedder.close()


def lengths(embedder: Embedder, *texts: str) -> list[int]:
    return [int(embedding.vector[0]) for embedding in embedder.submit(texts).result(30)]


def test_the_order_is_kept_on_another_thread(embedder: Embedder, engine: Recording) -> None:
    assert lengths(embedder, "ccc", "a", "bb") == [3, 1, 2]
    assert current_thread().name not in engine.threads


def test_a_text_is_embedded_once_in_a_submission(embedder: Embedder, engine: Recording) -> None:
    assert lengths(embedder, "a", "bb", "a", "a") == [1, 2, 1, 1]
    assert engine.asked == [["a", "bb"]]


def test_recent_texts_are_not_embedded_again(embedder: Embedder, engine: Recording) -> None:
    lengths(embedder, "a", "bb")
    assert lengths(embedder, "bb", "ccc", "a") == [2, 3, 1]
    assert lengths(embedder, "a", "bb") == [1, 2]
    assert engine.asked == [["a", "bb"], ["ccc"]]


def test_the_least_recently_used_leave(embedder: Embedder, engine: Recording) -> None:
    lengths(embedder, "a", "bb", "ccc")
    lengths(embedder, "a")
    lengths(embedder, "dddd")
    lengths(embedder, "a")
    lengths(embedder, "bb")
    assert engine.asked == [["a", "bb", "ccc"], ["dddd"], ["bb"]]


def test_a_submission_larger_than_what_is_remembered(embedder: Embedder, engine: Recording) -> None:
    assert lengths(embedder, "a", "bb", "ccc", "dddd", "a") == [1, 2, 3, 4, 1]
    assert engine.asked == [["a", "bb", "ccc", "dddd"]]


def test_submissions_that_wait_share_what_was_embedded(
    embedder: Embedder, engine: Recording
) -> None:
    engine.go.clear()
    futures = [embedder.submit(["a"]), embedder.submit(["a", "bb"])]
    engine.go.set()
    assert [len(future.result(30)) for future in futures] == [1, 2]
    assert engine.asked == [["a"], ["bb"]]


def submissions(embedder: Embedder, engine: Recording, *texts: str) -> list[Future[Any]]:
    """Submissions of one text each that all wait while another one is embedded."""
    engine.go.clear()
    engine.started.clear()
    first = embedder.submit(["first"])
    assert engine.started.wait(30)
    waiting = [embedder.submit([text]) for text in texts]
    engine.go.set()
    assert len(first.result(30)) == 1
    return waiting


def test_submissions_that_wait_are_embedded_together(
    engine: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "TOGETHER", 4)
    embedder = Embedder(engine)
    texts = ["a", "bb", "ccc", "a", "dddd", "eeeee"]
    found = [future.result(30) for future in submissions(embedder, engine, *texts)]
    assert [[int(one.vector[0]) for one in each] for each in found] == [[len(t)] for t in texts]
    assert engine.asked == [["first"], ["a", "bb", "ccc"], ["dddd", "eeeee"]]
    large = embedder.submit(texts)
    assert len(large.result(30)) == len(texts)
    embedder.close()


def test_an_error_of_one_submission_is_not_that_of_others_beside_it(
    embedder: Embedder, engine: Recording
) -> None:
    before, failing, after = submissions(embedder, engine, "a", "poison", "bb")
    assert [len(one.result(30)) for one in (before, after)] == [1, 1]
    with pytest.raises(ValueError, match="poison"):
        failing.result(30)


def test_a_cancelled_submission_is_not_embedded(embedder: Embedder, engine: Recording) -> None:
    engine.go.clear()
    running, given_up, kept = (embedder.submit([text]) for text in ("a", "bb", "ccc"))
    assert engine.started.wait(30)
    assert given_up.cancel()
    engine.go.set()
    assert [len(one.result(30)) for one in (running, kept)] == [1, 1]
    assert "bb" not in [text for asked in engine.asked for text in asked]


def test_nothing_gives_nothing(embedder: Embedder, engine: Recording) -> None:
    assert lengths(embedder) == []
    assert engine.asked == []


def test_an_error_reaches_who_asked_and_the_next_goes_on(embedder: Embedder) -> None:
    failing = embedder.submit(["a", "poison"])
    with pytest.raises(ValueError, match="poison"):
        failing.result(30)
    assert lengths(embedder, "a") == [1]


def test_closing_finishes_what_runs_and_cancels_what_waits(engine: Recording) -> None:
    embedder = Embedder(engine)
    engine.go.clear()
    running, waiting = embedder.submit(["a"]), embedder.submit(["bb"])
    assert engine.started.wait(30)
    waiting.add_done_callback(lambda _: engine.go.set())
    embedder.close()
    assert len(running.result(30)) == 1
    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        embedder.submit(["ccc"])


def test_who_only_waits_embeds_on_its_own_thread(embedder: Embedder, engine: Recording) -> None:
    """It is cached with the rest, and an error is raised where it is awaited."""
    [found] = embedder.submit_waiting(["four"]).result(0)
    assert found.vector[0] == 4
    assert engine.threads == {current_thread().name}
    assert lengths(embedder, "four", "a") == [4, 1]
    embedder.submit_waiting(["a"]).result(0)
    assert engine.asked == [["four"], ["a"]]
    with pytest.raises(ValueError, match="poison"):
        embedder.submit_waiting(["poison"]).result(0)


def test_what_is_being_embedded_is_waited_for(embedder: Embedder, engine: Recording) -> None:
    engine.go.clear()
    first = embedder.submit(["a"])
    assert engine.started.wait(30)
    engine.started.clear()
    with ThreadPoolExecutor(1) as other:
        second = other.submit(embedder.submit_waiting, ["a"])
        assert not engine.started.wait(0.2)
        engine.go.set()
        assert second.result(30).result(0) == first.result(30)
    assert engine.asked == [["a"]]


def test_who_needs_a_text_now_waits_for_no_submission(
    embedder: Embedder, engine: Recording
) -> None:
    engine.go.clear()
    waiting = embedder.submit(["a text of a window"])
    assert engine.started.wait(30)
    embedder.engine = at_once = Recording()
    assert embedder.embed_now("four").vector[0] == 4
    assert at_once.threads == {current_thread().name}
    assert not waiting.done()
