"""What follows a writer's commits misses none of them, whatever came between."""

from __future__ import annotations

from pathlib import Path

from palimpsest.contracts.events import AnyEvent
from palimpsest.projections.base.changes import RowChanges
from palimpsest.projections.live import LiveProjections
from palimpsest.projections.verify import verify
from palimpsest.streams.core.touched import Touched
from tests.projections.histories import History

Commit = list[tuple[int, AnyEvent, Touched]]


class Noted(RowChanges):
    """Keeps what each event touched until it is handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.events: Commit = []

    def add(self, position: int, event: AnyEvent, touched: Touched) -> None:
        """Keep it."""
        self.events.append((position, event, touched))

    def commit(self) -> Commit:
        """Everything since the last time."""
        done, self.events = self.events, []
        return done


class Store:
    """A history whose commits are followed only where the test says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.history, self.noted = History(), Noted()
        self.history.changes = self.noted
        self.live = LiveProjections(folder, self.history.log)
        self.live.begin()

    def write(self, text: str) -> Commit:
        self.history.admit("ada", text)
        return self.noted.commit()

    def assert_shown(self) -> None:
        self.live.show()
        found = verify(self.history.log, self.folder)
        self.live.close()
        assert found["differences"] == 0, found["details"]


def test_a_commit_that_was_not_followed_is_projected_with_the_next(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.live.follow(store.write("The ferry leaves."))
    store.write("An interrupt came.")
    store.live.follow(store.write("The harbour freezes."))
    store.assert_shown()


def test_a_commit_that_was_not_followed_is_shown_without_another(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("An interrupt came.")
    store.assert_shown()


def test_after_the_end_another_may_have_written(tmp_path: Path) -> None:
    """What the other touched is folded again, and not what was followed before it."""
    store = Store(tmp_path)
    store.live.follow(store.write("The ferry leaves."))
    store.live.show()
    assert store.live.end()
    begun = [store.live.begun]
    other = LiveProjections(tmp_path, store.history.log)
    store.write("Another wrote.")
    other.begin()
    other.close()
    store.live.follow(store.write("The harbour freezes."))
    assert [*begun, store.live.begun] == [False, True]
    store.assert_shown()


class Beside:
    """Another process that projects: it does so when it is told to end."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.running = True

    def finish(self) -> None:
        """Project what was written meanwhile."""
        other = LiveProjections(self._store.folder, self._store.history.log)
        other.begin()
        other.close()
        self.running = False


def test_another_process_projects_no_longer_than_it_is_left_to(tmp_path: Path) -> None:
    store = Store(tmp_path)
    beside = Beside(store)
    with store.live.leave_to(lambda: beside):
        store.live.follow(store.write("The ferry leaves."))
        meanwhile = beside.running
    assert (meanwhile, beside.running) == (True, False)
    store.live.follow(store.write("The harbour freezes."))
    store.assert_shown()
