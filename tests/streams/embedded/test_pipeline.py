"""Reading, embedding and deciding overlap, and others are served between the windows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from palimpsest.contracts.wire import decode
from palimpsest.streams.embedded import pipeline
from palimpsest.streams.embedded.pipeline import ReadAhead
from palimpsest.streams.write.inputs import Input
from tests.streams.write.runtime import Runtime, inputs


def some(count: int) -> list[Input]:
    return inputs({"owner_id": "ann", "text": f"text {n}", "id": str(n)} for n in range(count))


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite") as made:
        yield made


def test_nothing_in_nothing_out(runtime: Runtime) -> None:
    assert [*runtime.windows([])] == []
    assert runtime.log.count() == 0


def test_outcomes_come_in_the_order_of_the_inputs(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 7)
    given = some(60)
    windows = [*runtime.windows(given)]
    found = [outcome.candidate_id for window in windows for outcome in window]
    texts = [runtime.writer.owners.get("ann").ledger.entries[str(i)].text for i in found]
    assert texts == [f"text {n}" for n in range(60)]
    assert max(map(len, windows)) == 7


def test_others_are_served_after_each_window_and_while_the_producer_pauses(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    served = threading.Event()
    calls: list[int] = []

    def between() -> None:
        calls.append(runtime.log.count())
        served.set()

    def read() -> Iterator[Input]:
        yield from some(2)
        served.wait(30)
        served.clear()
        assert served.wait(30), "nobody was served while the producer paused"

    for _ in runtime.windows(read(), between):
        pass
    assert calls[0] == 3
    assert len(calls) > 1


def test_others_are_served_after_each_window_of_a_producer_that_never_pauses(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    served: set[int] = set()
    windows = runtime.windows(some(20), lambda: served.add(runtime.log.count()))
    decided = {runtime.log.count() for _ in windows}
    assert len(decided) > 5
    assert decided <= served


def test_others_are_served_between_long_texts_that_are_nearly_equal(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of all of them would take seconds."""
    window_bytes = 64 * 1024
    monkeypatch.setattr(pipeline, "WINDOW_BYTES", window_bytes)
    words = "the walk along the river takes her an hour " * 200
    given = inputs({"owner_id": "ann", "text": f"{words} {n}", "id": str(n)} for n in range(16))
    turn = iter(range(16))

    def between() -> None:
        runtime.submit({"owner_id": "bob", "text": f"bob's note {next(turn)}"})

    for _ in runtime.windows(given, between):
        pass
    owners = [event.owner_id for event in map(decode, runtime.lines()) if event.owner_id]
    turns = [len([*some]) for owner, some in groupby(owners) if owner == "ann"]
    assert sum(turns) == 16
    assert max(turns) * len(words) <= window_bytes + len(words)


def test_who_stops_early_stops_the_reader_and_leaves_no_text_awaited(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    ended = threading.Event()
    handed: list[Input] = []

    def read() -> Iterator[Input]:
        try:
            for one in some(10_000):
                handed.append(one)
                yield one
        finally:
            ended.set()

    outcomes = runtime.windows(read())
    next(outcomes)
    outcomes.close()
    assert ended.wait(30)
    assert len(handed) < 100
    assert len(runtime.writer._pending_texts) == 0
    assert runtime.log.count() < 100
    assert runtime.ledger_matches_log()


def test_the_reader_reads_ahead_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer of any size costs the memory of a few windows."""
    monkeypatch.setattr(pipeline, "WINDOW", 4)
    handed: list[int] = []
    full = threading.Event()

    def read() -> Iterator[Input]:
        for number, one in enumerate(some(100)):
            handed.append(number)
            if len(handed) > 8:
                full.set()
            yield one

    rows = ReadAhead(read())
    try:
        assert full.wait(30)
        assert len(handed) <= 10
        assert len(rows.next_window()) == 4
    finally:
        rows.close()


def test_a_window_that_fails_leaves_no_text_awaited(runtime: Runtime) -> None:
    """What is not awaited any more is embedded with its window, not one by one."""

    def fails() -> None:
        raise KeyboardInterrupt

    outcomes = runtime.windows(some(3), fails)
    next(outcomes)
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    assert len(runtime.writer._pending_texts) == 0
    assert runtime.log.count() == 4
