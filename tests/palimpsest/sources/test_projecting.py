"""During a large import a second process projects; if either is killed, nothing is lost."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import lancedb
import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.backends import projector_process as projecting
from palimpsest.backends import upkeep
from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.backends.projector_process import ProjectorProcess
from palimpsest.jobs import import_source as importing
from palimpsest.projections.duckdb.segments import reached
from palimpsest.streams.embedded import pipeline
from palimpsest.streams.embedded.lock import LOCK_FILE
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.log.log import Log
from tests.docs.pages import ROOT
from tests.stub_engine import load_stub, vector_of

ROWS = 240
OWNERS = 7
PATIENCE = 60.0


@pytest.fixture(scope="module", name="source")
def vectored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of rows with the stub engine's vectors; every tenth row is a repeat."""
    folder = tmp_path_factory.mktemp("theirs") / "lance"
    lancedb.connect(folder).create_table("notes", [_row(number) for number in range(ROWS)])
    return folder


def _row(number: int) -> dict[str, Any]:
    said = number - OWNERS if number % 10 == 9 else number
    text = f"Note {said}: {' '.join(f'w{said}x{m}' for m in range(6))}"
    vector = vector_of(text).astype("float32")
    return {
        "id": str(number),
        "user_id": f"owner {said % OWNERS}",
        "content": text,
        "vector": vector,
    }


class Watched(ProjectorProcess):
    """Records the child processes, how far they came, and how they ended."""

    def __init__(self, *what: Any) -> None:
        self.folder: Path = what[0]
        self.reached: int | None = None
        children.append(self)
        super().__init__(*what)

    def finish(self) -> None:
        super().finish()
        self.reached = reached(self.folder / PROJECTIONS_FOLDER)


children: list[Watched] = []


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small windows, so that few rows count as many."""
    children.clear()
    monkeypatch.setattr(importing, "MANY_ROWS", 100)
    monkeypatch.setattr(projecting, "usable_cores", lambda: 2)
    monkeypatch.setattr(pipeline, "WINDOW", 16)
    monkeypatch.setattr(store, "load_engine", load_stub)
    monkeypatch.setattr(upkeep, "ProjectorProcess", Watched)


def imported(folder: Path, source: Path, model: str | None = DEFAULT_MODEL) -> Any:
    with Palimpsest.open(folder) as opened:
        return opened.import_source(source, model_of_vectors=model)


def lines(folder: Path) -> list[dict[str, Any]]:
    """The log without fields that depend on the clock."""
    with closing(Log.open(folder / "log.sqlite", read_only=True)) as log:
        events = [json.loads(line) for _, line in log.lines()]
    for event in events:
        event.pop("time")
    return events


def head(folder: Path) -> int:
    with closing(Log.open(folder / "log.sqlite", read_only=True)) as log:
        return log.head()


def differences(folder: Path) -> Any:
    with Palimpsest.open(folder, create=False) as opened:
        return opened.verify()["differences"]


def test_a_second_process_projects_a_large_import(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MANY_ROWS", ROWS)
    imported(tmp_path / "beside", source)
    [child] = children
    assert child.process.returncode == 0
    assert child.reached == len(lines(tmp_path / "beside"))
    assert differences(tmp_path / "beside") == 0
    monkeypatch.setattr(importing, "MANY_ROWS", ROWS + 1)
    imported(tmp_path / "alone", source)
    assert len(children) == 1
    assert lines(tmp_path / "beside") == lines(tmp_path / "alone")


def test_without_vectors_the_model_takes_the_second_core(source: Path, tmp_path: Path) -> None:
    assert imported(tmp_path / "store", source, model=None)["vectors"]["taken"] is False
    assert not children


def test_on_one_core_no_second_process_is_started(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projecting, "usable_cores", lambda: 1)
    imported(tmp_path / "store", source)
    assert not children


def test_a_store_that_was_written_to_goes_on(source: Path, tmp_path: Path) -> None:
    """Events waiting in the projector are written before the second process begins."""
    with Palimpsest.open(tmp_path / "store") as opened:
        opened.submit([{"owner_id": "owner 1", "text": "Before the import."}])
        opened.import_source(source, model_of_vectors=DEFAULT_MODEL)
        opened.submit([{"owner_id": "owner 1", "text": "After the import."}])
        assert opened.verify()["differences"] == 0
    [child] = children
    assert child.process.returncode == 0


def test_if_the_second_process_cannot_be_started_the_first_projects_by_itself(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert imported(tmp_path / "store", source)["rows"] == ROWS
    assert "no second process could be started to project" in caplog.text
    assert differences(tmp_path / "store") == 0


def test_if_the_second_process_is_killed_the_first_projects_by_itself(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def running(self: ProjectorProcess) -> bool:
        nonlocal asked
        asked += 1
        if asked == 5:
            self.process.kill()
            self.process.wait()
        return self.process.poll() is None

    monkeypatch.setattr(Watched, "running", property(running))
    assert imported(tmp_path / "store", source)["rows"] == ROWS
    assert asked == 5
    assert "the process that projected has died: this one continues" in caplog.text
    assert differences(tmp_path / "store") == 0


def test_if_it_dies_at_the_end_the_first_projects_the_rest(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(self: ProjectorProcess) -> None:
        self.process.kill()
        ProjectorProcess.finish(self)

    monkeypatch.setattr(Watched, "finish", finish)
    imported(tmp_path / "store", source)
    assert children[0].process.returncode == -signal.SIGKILL
    assert reached(tmp_path / "store" / PROJECTIONS_FOLDER) == head(tmp_path / "store")
    assert differences(tmp_path / "store") == 0


def test_who_reads_during_the_import_sees_what_was_decided(source: Path, tmp_path: Path) -> None:
    """The second process then ends: two must never write."""
    seen = list[tuple[int, int]]()

    def progress(text: str, _: float | None) -> None:
        if " rows: " in text:
            [row] = opened.sql("SELECT count(*) AS n FROM candidates")
            seen.append((int(text.split(" of ", maxsplit=1)[0]), row["n"]))
            assert not children[0].running

    with Palimpsest.open(tmp_path / "store") as opened:
        opened.import_source(source, model_of_vectors=DEFAULT_MODEL, progress=progress)
    assert len(seen) > 10
    assert all(decided == visible for decided, visible in seen)
    assert [child.process.returncode for child in children] == [0]
    assert differences(tmp_path / "store") == 0


def test_a_rebuild_during_the_import_is_whole(source: Path, tmp_path: Path) -> None:
    rebuilt = list[Any]()

    def progress(text: str, _: float | None) -> None:
        if " rows: " in text and not rebuilt:
            rebuilt.append(opened.rebuild())
            assert not children[0].running

    with Palimpsest.open(tmp_path / "store") as opened:
        opened.import_source(source, model_of_vectors=DEFAULT_MODEL, progress=progress)
    assert [one["differences"] for one in rebuilt[0].values()] == [0, 0]
    assert differences(tmp_path / "store") == 0


IMPORTING = """
import os, signal, sys
from pathlib import Path
from palimpsest.process.import_shims import lighten_lancedb
lighten_lancedb()  # half of its start
from palimpsest import Palimpsest
from palimpsest.jobs import import_source as importing
from palimpsest.backends import projector_process as projecting
from palimpsest.api import store
from palimpsest.streams.embedded import pipeline
from palimpsest.streams.embedder import DEFAULT_MODEL
from tests.stub_engine import load_stub

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it after `&`
importing.MANY_ROWS, pipeline.WINDOW = 100, 16
projecting.usable_cores, store.load_engine = lambda: 2, load_stub
folder, source, when, what = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]

def progress(text, share):
    decided = text.split(" of ")[0]
    if " rows: " in text and int(decided) >= when:
        {what}

with Palimpsest.open(folder) as opened:
    done = opened.import_source(source, model_of_vectors=DEFAULT_MODEL, progress=progress)
    assert done["interrupted"]
    print(done["rows"])
"""


def run(folder: Path, source: Path, what: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Import in a separate process; after 100 rows it does `what`."""
    program = IMPORTING.replace("{what}", what)
    command = [sys.executable, "-c", program, str(folder), str(source), "100", what]
    return subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE, check=False, **options
    )


def wait_until_free(folder: Path) -> None:
    """Wait until the writer's lock is free: then the second process has also ended."""
    deadline = time.monotonic() + PATIENCE
    with (folder / LOCK_FILE).open() as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < deadline, "the second process outlives the first"
                time.sleep(0.01)
            else:
                return


WAITED = """
        import time
        from palimpsest.projections.duckdb.segments import reached
        while not reached(folder / "projections"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", id="at once", marks=pytest.mark.long),
        pytest.param(WAITED.strip(), id="while it projects"),
    ],
)
def test_if_the_first_process_is_killed_the_second_ends_and_the_next_repairs(
    what: str, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    assert run(folder, source, what).returncode == -signal.SIGKILL
    wait_until_free(folder)
    before = len(lines(folder))
    done = imported(folder, source)
    assert 0 < done["known"] < ROWS
    assert done["known"] == before - 1, "the first event is the policy's"
    assert differences(folder) == 0


def test_ctrl_c_ends_the_import_and_everything_decided_is_projected(
    source: Path, tmp_path: Path
) -> None:
    """A terminal sends it to the whole process group."""
    folder = tmp_path / "store"
    done = run(folder, source, "os.killpg(0, signal.SIGINT)", start_new_session=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert 100 <= int(done.stdout) < ROWS
    assert reached(folder / PROJECTIONS_FOLDER) == head(folder)
    assert differences(folder) == 0


def test_an_interrupt_while_the_rest_is_projected_kills_the_second_process(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(self: ProjectorProcess) -> None:
        wait, waits = self.process.wait, iter([True, False])

        def interrupted() -> int:
            if next(waits):
                raise KeyboardInterrupt
            return wait()

        monkeypatch.setattr(self.process, "wait", interrupted)
        ProjectorProcess.finish(self)

    monkeypatch.setattr(Watched, "finish", finish)
    assert imported(tmp_path / "store", source)["interrupted"]
    assert children[0].process.returncode == -signal.SIGKILL
    wait_until_free(tmp_path / "store")
    assert differences(tmp_path / "store") == 0
