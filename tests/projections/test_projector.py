"""Live, caught up and rebuilt projections are the fold, wherever a process was stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import lancedb
import pytest

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.batch import batches
from palimpsest.projections.duckdb import compaction
from palimpsest.projections.duckdb.queries import queries
from palimpsest.projections.duckdb.segments import chain, listed
from palimpsest.projections.duckdb.store import DuckStore
from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.projector import Projector
from palimpsest.projections.verify import verify
from tests.long import long_but
from tests.projections.histories import History, MemoryLog

VIEWS = (
    "candidates daily decisions dedup_log joins judge_cost judges log_position memories policies"
    " policy_outcomes removal_rate review_queue sent_out verdicts"
).split()
STEPS = 12
"""Random commands between two commits of `live`."""


class StoppedError(Exception):
    """The process ends here."""


class StopAt:
    """An effect that raises at its `number`th call; without one it only counts."""

    def __init__(self, number: int | None = None) -> None:
        self.names: list[str] = []
        self._number = number

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) - 1 == self._number:
            raise StoppedError(name)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that otherwise happens after many commits happens after a few."""
    monkeypatch.setattr(compaction, "FEWEST", 3)
    monkeypatch.setattr(compaction, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr("palimpsest.projections.duckdb.store.GRACE_SECONDS", 0.0)
    monkeypatch.setattr(lance, "FRAGMENTED", 3)
    monkeypatch.setattr(lance, "INDEXED_FROM", 8)


def contents(folder: Path) -> dict[str, list[str]]:
    """Everything that the views show."""
    found = queries(folder, *((f"FROM {view}", ()) for view in VIEWS))
    return {view: sorted(map(repr, rows)) for view, rows in zip(VIEWS, found, strict=True)}


def live(folder: Path, history: History, commits: int, effect: Callable[[str], None]) -> None:
    projector = Projector(folder, history.log, effect=effect)
    projector.start()
    for _ in range(commits):
        history.steps(STEPS)
        projector.submit(history.take())
        projector.flush()
    projector._duck.tidy()
    assert projector._lance is not None
    projector._lance.tidy()
    projector.close()


def assert_right(log: MemoryLog, folder: Path) -> None:
    found = verify(log, folder)
    assert found["differences"] == 0, found["details"]


@pytest.mark.parametrize("seed", long_but(0, of=range(2)))
def test_live_is_the_fold(tmp_path: Path, seed: int) -> None:
    history = History(seed)
    live(tmp_path, history, 8, StopAt())
    assert_right(history.log, tmp_path)


def test_what_the_log_has_more_is_a_difference_until_it_is_caught_up(tmp_path: Path) -> None:
    history = History(2)
    live(tmp_path, history, 2, StopAt())
    history.nobody()
    assert verify(history.log, tmp_path)["differences"] > 0
    Projector(tmp_path, history.log).start()
    assert_right(history.log, tmp_path)


def test_caught_up_is_live_is_rebuilt(tmp_path: Path, eager: None) -> None:
    history = History(5)
    live(tmp_path / "live", history, 6, StopAt())
    expected = contents(tmp_path / "live")
    assert all(expected[view] for view in VIEWS if view not in {"policies", "judges"})
    caught_up = Projector(tmp_path / "late", history.log)
    caught_up.start()
    assert contents(tmp_path / "late") == expected
    rebuilt = caught_up.rebuild()
    assert {name: done["differences"] for name, done in rebuilt.items()} == {
        "duckdb": 0,
        "lancedb": 0,
    }
    assert contents(tmp_path / "late") == expected
    assert caught_up.positions() == {"duckdb": history.log.head(), "lancedb": history.log.head()}


def test_a_start_that_finds_all_well_does_nothing(tmp_path: Path) -> None:
    history = History(2)
    live(tmp_path, history, 3, StopAt())
    effect = StopAt()
    projector = Projector(tmp_path, history.log, effect=effect)
    assert projector.start().done == []
    assert projector.start().done == []
    assert effect.names == []


def test_an_empty_store_has_every_view(tmp_path: Path) -> None:
    projector = Projector(tmp_path, MemoryLog())
    projector.start()
    shown = contents(tmp_path)
    assert shown.pop("log_position") == ["{'position': 0}"]
    assert not any(shown.values())
    assert_right(MemoryLog(), tmp_path)


def test_what_another_writer_did_is_noticed(tmp_path: Path) -> None:
    history = History(3)
    mine = Projector(tmp_path, history.log)
    mine.start()
    live(tmp_path, history, 2, StopAt())
    mine.start()
    history.steps(10)
    mine.submit(history.take())
    mine.close()
    assert_right(history.log, tmp_path)


def test_a_range_written_twice_shows_once(tmp_path: Path) -> None:
    history = History(4)
    live(tmp_path, history, 4, StopAt())
    expected = contents(tmp_path)
    duck = DuckStore(tmp_path)
    duck.open(history.log)
    segments, _ = chain(listed(tmp_path))
    first, last = segments[0], segments[-1]
    duck.write(first.start, first.end, batches(history.log, first.start, first.end))
    duck.write(0, last.end, batches(history.log, 0, last.end))
    assert contents(tmp_path) == expected


def test_what_is_written_call_by_call_is_merged_too(
    tmp_path: Path, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each caller waits for its commit; there would be a segment for each of them for ever."""
    monkeypatch.setattr(compaction, "MOST", 5)
    history = History()
    for number in range(20):
        projector = Projector(tmp_path, history.log)
        projector.start()
        history.admit("ada", f"She has {number} kettles.")
        projector.submit(history.take())
        projector.close()
        merged, _ = chain(listed(tmp_path))
        assert len(merged) <= compaction.MOST + 1
    assert_right(history.log, tmp_path)


def test_small_segments_become_one(tmp_path: Path, eager: None) -> None:
    history = History(6)
    live(tmp_path, history, 6, StopAt())
    assert len(listed(tmp_path)) <= 4
    assert_right(history.log, tmp_path)


def stops(
    run: Callable[[Path, StopAt], object], store: Path, which: Sequence[str] | None = None
) -> Iterator[str]:
    """Each effect of a run, or of `which`, the last time that it has it.

    The store is as a run left it that ended there.

    `tests/reliability` kills processes at each of them, half-way through.
    """
    counted = StopAt()
    run(store, counted)
    last = {
        name: number for number, name in enumerate(counted.names) if which is None or name in which
    }
    for number in sorted(last.values()):
        shutil.rmtree(store)
        with pytest.raises((StoppedError, StoreError)):
            run(store, StopAt(number))
        yield counted.names[number]


EFFECTS = (
    *("segment:renamed", "segment:retired", "lancedb:memories"),
    *("lancedb:position", "lancedb:memories:tidy"),
)


@pytest.mark.parametrize("which", long_but(EFFECTS, of=[EFFECTS, None]), ids=["some", "any"])
def test_stopped_at_an_effect_of_live_writing_it_goes_on(
    tmp_path: Path, eager: None, which: tuple[str, ...] | None
) -> None:
    """In the third commit, with which all the tidying comes."""
    store, begun = tmp_path / "store", tmp_path / "begun"
    live(store, History(7), 2, StopAt())
    store.rename(begun)
    histories: list[History] = []

    def run(folder: Path, effect: StopAt) -> None:
        shutil.copytree(begun, folder)
        histories.append(history := History(7).steps(2 * STEPS))
        history.take()
        live(folder, history, 1, effect)

    names = set()
    for name in stops(run, store, which):
        names.add(name)
        history = histories[-1]
        again = Projector(store, history.log)
        again.start()
        history.steps(5)
        again.submit(history.take())
        again.close()
        assert_right(history.log, store)
    assert names >= {*EFFECTS}


def test_views_that_were_not_put_in_their_place_are_written_again(tmp_path: Path) -> None:
    history = History(7).steps(STEPS)

    def stop(name: str) -> None:
        if name == "views:written":
            raise StoppedError(name)

    with pytest.raises(StoppedError):
        Projector(tmp_path, history.log, effect=stop).start()
    Projector(tmp_path, history.log).start()
    assert_right(history.log, tmp_path)
    assert contents(tmp_path)["memories"]


def test_a_rebuild_of_one_leaves_the_other(tmp_path: Path) -> None:
    history = History(9)
    live(tmp_path, history, 3, StopAt())
    projector = Projector(tmp_path, history.log)
    assert list(projector.rebuild(["lancedb"])) == ["lancedb"]
    with pytest.raises(UsageError, match="no projection parquet"):
        projector.rebuild(["parquet"])
    assert_right(history.log, tmp_path)


def test_a_failure_is_raised_and_the_next_start_repairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(10)
    projector = Projector(tmp_path, history.log)
    projector.start()
    history.steps(10)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("palimpsest.projections.lancedb.store.replace_json", full)
        projector.submit(history.take())
        with pytest.raises(StoreError, match="the disk is full"):
            projector.flush()
    projector.start()
    projector.close()
    assert_right(history.log, tmp_path)


def test_a_failure_that_nobody_was_told_of_is_in_the_report_of_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(10)
    projector = Projector(tmp_path / "new", history.log)
    assert projector.start().done == [], "a new store has nothing to report"
    history.steps(10)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    failed = Event()
    with monkeypatch.context() as patch:
        patch.setattr("palimpsest.projections.lancedb.store.replace_json", full)
        projector.submit(history.take())
        projector.when_quiet(failed.set)
        assert failed.wait(60)
    assert "the disk is full" in projector.start().done[0]
    projector.close()
    assert_right(history.log, tmp_path / "new")


def test_earlier_versions_leave_in_time(
    tmp_path: Path, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "GRACE", timedelta(0))
    history = History(11)
    with pytest.warns(UserWarning, match="every version"):
        live(tmp_path, history, 6, StopAt())
    assert len(list((tmp_path / "lancedb" / "memories.lance" / "_versions").iterdir())) < 10
    assert_right(history.log, tmp_path)


def test_what_lancedb_keeps_of_its_versions_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default it keeps a gigabyte, which a server reaches within days."""
    sessions: list[Any] = []
    session = lancedb.Session

    def noted(**limits: Any) -> Any:
        sessions.append(session(**limits))
        return sessions[-1]

    monkeypatch.setattr(lancedb, "Session", noted)
    monkeypatch.setattr(lance, "METADATA_BYTES", 100_000)
    live(tmp_path, History(14), 12, StopAt())
    assert sessions
    assert max(one.size_bytes for one in sessions) < 200_000


def test_a_log_that_ends_earlier_than_the_projections_wins(tmp_path: Path) -> None:
    history = History(12)
    live(tmp_path, history, 4, StopAt())
    earlier = history.log.upto(history.log.head() // 2)
    report = Projector(tmp_path, earlier).start()
    assert any("ahead of the log" in done for done in report.done)
    assert_right(earlier, tmp_path)


def test_a_log_that_lost_its_last_event_wins(tmp_path: Path) -> None:
    """Both projections are beyond it by one, and say so."""
    history = History(12).steps(30)
    while history.log.events[-1].position - history.log.events[-2].position != 1:
        history.steps(1)
    projector = Projector(tmp_path, history.log)
    projector.start()
    projector.close()
    earlier = history.log.upto(history.log.events[-2].position)
    done = Projector(tmp_path, earlier).start().done
    assert [one.partition(" is ahead")[0].split()[0] for one in done if "ahead" in one] == [
        "segment",
        "LanceDB",
    ]
    assert_right(earlier, tmp_path)


def test_recorded_positions_may_have_gaps() -> None:
    log = History(1).steps(30).log
    positions = [event.position for event in log.events]
    assert positions != list(range(1, len(positions) + 1))
    assert all(isinstance(event, Recorded) for event in log.events)
