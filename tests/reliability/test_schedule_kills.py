"""`palimpsest schedule` killed, doubled and told to end: one run each night, and a clean end."""

from __future__ import annotations

import shutil
import signal
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from palimpsest.contracts.events import Joined, Ran
from palimpsest.streams.log.log import Log
from tests.designs.test_importance import FAR, window
from tests.reliability.processes import Child, Forge, until
from tests.reliability.rows import write

ROWS = [
    {"owner_id": "ada", "id": str(number), "text": text}
    for number, text in enumerate([*FAR[:9], window(0), window(4)])
]


@pytest.fixture(scope="module")
def filled(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store under the preset in which two memories are near each other."""
    folder = tmp_path_factory.mktemp("filled")
    file = write(folder / "rows.jsonl", ROWS, broken=())
    preset = {"PALIMPSEST_POLICY": "importance"}
    child = forge.run(folder / "store", ["ingest", str(file)], env=preset)
    assert child.statuses() == [0], child.printed(0, 2)
    return folder / "store"


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    return Path(shutil.copytree(filled, tmp_path / "store"))


def due() -> dict[str, str]:
    """A schedule with a time that was an hour ago, and is not soon again."""
    return {"PALIMPSEST_SCHEDULE_DEDUPE": f"{datetime.now(UTC) - timedelta(hours=1):%H:%M}"}


def runs(store: Path) -> tuple[int, int]:
    """How many runs were recorded, and how many joins."""
    with Log.open(store / "log.sqlite") as log:
        events = [recorded.event for recorded in log.after(0, 10**6)]
    return sum(isinstance(e, Ran) for e in events), sum(isinstance(e, Joined) for e in events)


def has_reported(child: Child) -> bool:
    """Whether it has told what became of a step."""
    out = Path(f"{child.out}.0.1")
    return out.exists() and '"dedupe"' in out.read_text()


@pytest.mark.parametrize(("effect", "left"), [("log:append", (0, 0)), ("log:committed", (1, 1))])
def test_a_schedule_that_is_killed_leaves_a_whole_run_or_none_and_the_next_does_it_once(
    forge: Forge, store: Path, effect: str, left: tuple[int, int]
) -> None:
    at = due()
    killed = forge.run(store, ["schedule", "--once"], env=at, crash=(effect, 1))
    assert killed.wait() == -signal.SIGKILL
    assert runs(store) == left
    again = forge.run(store, ["schedule", "--once"], ["verify"], env=at)
    assert again.statuses() == [0, 0], again.printed(0, 2)
    assert runs(store) == (1, 1)


def test_two_schedules_at_once_make_one_run_and_sigterm_ends_them(
    forge: Forge, store: Path
) -> None:
    at = due()
    both = [forge.start(store, ["--json", "schedule"], env=at) for _ in range(2)]
    for child in both:
        until(partial(has_reported, child))
    for child in both:
        assert not child.has_ended(), child.printed(0, 2)
        child.kill(signal.SIGTERM)
    assert [child.wait() for child in both] == [0, 0]
    assert runs(store) == (1, 1)
