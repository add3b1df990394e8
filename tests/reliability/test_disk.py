"""A disk that is full, read-only or damaged: said clearly, nothing lost, projections mended."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from tests.long import long_but
from tests.reliability.processes import Forge, outcome
from tests.reliability.rows import ROWS

NO_STORE = 4
CHECK = ["check", "ann", "a memory"]


def stderr_of(child: Any, number: int = 0) -> str:
    """What a command said to standard error, on one line."""
    return " ".join(child.printed(number, 2).split())


# -- full ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", long_but(90_000, of=[90_000, 300_000]))
def test_a_file_that_cannot_grow_ends_an_ingest_that_goes_on_later(
    forge: Forge, file: Path, undisturbed: Path, tmp_path: Path, limit: int
) -> None:
    store = tmp_path / "store"
    full = forge.run(store, ["ingest", str(file)], limit=limit)
    assert full.statuses() == [NO_STORE], stderr_of(full)
    assert "Traceback" not in stderr_of(full)
    again = forge.run(store, ["ingest", str(file)], ["verify", "--json"])
    assert again.statuses() == [1, 0], stderr_of(again)
    assert outcome(store) == outcome(undisturbed)


@pytest.mark.parametrize("size", long_but("1100k", of=["700k", "1100k", "1500k"]))
def test_a_full_disk_ends_an_ingest_that_goes_on_when_there_is_room(
    forge: Forge,
    file: Path,
    undisturbed: Path,
    small_disk: Callable[[str], Path],
    size: str,
) -> None:
    disk = small_disk(f"size={size}")
    # What its own views need besides, while they are written, is what these sizes lack.
    full = forge.run(disk / "store", ["ingest", str(file)], views=True)
    assert full.statuses() == [NO_STORE], stderr_of(full)
    assert "Traceback" not in stderr_of(full), stderr_of(full)[-6000:]
    assert "full" in stderr_of(full)
    assert ".rs:" not in stderr_of(full)
    resized = ["mount", "-o", "remount,size=200m", str(disk)]
    subprocess.run(resized, check=True)
    again = forge.run(disk / "store", ["ingest", str(file)], ["verify", "--json"])
    assert again.statuses() == [1, 0], stderr_of(again)
    assert outcome(disk / "store") == outcome(undisturbed)


def test_a_full_disk_is_named_by_what_reads_and_a_creation_leaves_nothing(
    forge: Forge, undisturbed: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("size=20m")
    store = Path(shutil.copytree(undisturbed, disk / "store"))
    fill(disk)
    read = forge.run(store, CHECK, ["recall", "ann", "a memory"], ["log", "export", "-"])
    assert read.statuses() == [NO_STORE] * 3
    for number in range(3):
        assert "is full" in stderr_of(read, number), stderr_of(read, number)
    failed = forge.run(disk / "new", ["add", "ann", "a memory"])
    assert failed.statuses() == [NO_STORE]
    assert {one.name for one in (disk / "new").iterdir()} <= {"log.sqlite"}
    (disk / "fill").unlink()
    again = forge.run(disk / "new", ["add", "ann", "a memory"], CHECK)
    assert again.statuses() == [0, 0], stderr_of(again)


def fill(disk: Path) -> None:
    """Leave no space on a disk."""
    with (disk / "fill").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


# -- read-only -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["ingest", "FILE"], ["rebuild"], ["unmerge", "--candidate", "c"]]
)
def test_a_read_only_disk_is_named(
    forge: Forge,
    file: Path,
    undisturbed: Path,
    small_disk: Callable[[str], Path],
    command: list[str],
) -> None:
    disk = small_disk("size=200m")
    store = Path(shutil.copytree(undisturbed, disk / "store"))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    child = forge.run(store, [str(file) if word == "FILE" else word for word in command])
    assert child.statuses() == [NO_STORE], stderr_of(child)
    assert str(store) in stderr_of(child).replace(" ", "")
    assert "Traceback" not in stderr_of(child)
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    checked = forge.run(store, ["verify", "--json"])
    assert checked.answer()["differences"] == 0
    assert outcome(store) == outcome(undisturbed)


def test_a_store_on_a_read_only_disk_is_read_and_left_as_it_is(
    forge: Forge, undisturbed: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("size=200m")
    store = Path(shutil.copytree(undisturbed, disk / "store"))
    before = forge.run(store, ["status", "--json"]).answer()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for command in (
        ["status"],
        ["decisions"],
        ["sql", "SELECT 1"],
        ["recall", "ann", "a memory"],
        CHECK,
    ):
        child = forge.run(store, [*command, "--json"])
        assert child.statuses() == [0], stderr_of(child)
    with Palimpsest.open(store) as memories:  # it exists, so there is nothing to create
        assert memories.status()["position"] == before["position"]
    assert forge.run(store, ["status", "--json"]).answer() == before
    exported = disk.parent / "exported.jsonl"
    assert forge.run(store, ["log", "export", str(exported)]).statuses() == [0]
    verifying = forge.run(store, ["verify"])
    assert verifying.statuses() == [NO_STORE]
    assert "the store can be read here; change or verify a copy" in stderr_of(verifying)
    assert forge.run(store, ["doctor"]).statuses() == [1]


def test_verify_says_what_it_found_even_if_it_cannot_be_recorded(
    forge: Forge, copied: Path
) -> None:
    (copied / "verified.json").unlink()
    (copied / "verified.json").mkdir()
    child = forge.run(copied, ["status", "--json"], ["verify", "--json"], ["status", "--json"])
    assert child.statuses() == [0, 0, 0]
    assert child.answer()["verified"] is None
    assert "verified.json cannot be written: Is a directory" in stderr_of(child, 1)


# -- damaged projections -------------------------------------------------------------------------


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.rglob(pattern), key=lambda path: path.stat().st_size)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scramble(path: Path) -> None:
    """Change bytes in the middle, more than any padding between columns; the size stays."""
    content = bytearray(path.read_bytes())
    middle = slice(len(content) // 2, len(content) // 2 + 512)
    content[middle] = bytes(byte ^ 0xFF for byte in content[middle])
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scrawl(path: Path) -> None:
    path.write_bytes(b"\x00 not what was written")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "all projections gone": shutil.rmtree,
    "lancedb gone": lambda folder: shutil.rmtree(folder / "lancedb"),
    "segments gone": lambda folder: shutil.rmtree(folder / "segments"),
    "one segment gone": lambda folder: shutil.rmtree(largest(folder, "decisions.parquet").parent),
    "a segment's table gone": lambda folder: largest(folder, "decisions.parquet").unlink(),
    "a segment cut short": lambda folder: cut(largest(folder, "decisions.parquet")),
    "a segment that is empty": lambda folder: empty(largest(folder, "memories.parquet")),
    "a manifest scrawled over": lambda folder: scrawl(
        largest(folder, "decisions.parquet").parent / "manifest.json"
    ),
    "the views scrawled over": lambda folder: scrawl(folder / "palimpsest.duckdb"),
    "the views gone": lambda folder: (folder / "palimpsest.duckdb").unlink(),
    "a LanceDB file cut short": lambda folder: cut(largest(folder / "lancedb", "*.lance")),
    "a LanceDB file gone": lambda folder: largest(folder / "lancedb", "*.lance").unlink(),
    "a LanceDB manifest scrawled over": lambda folder: scrawl(
        largest(folder / "lancedb", "*.manifest")
    ),
    "LanceDB's position gone": lambda folder: (folder / "lancedb" / "position.json").unlink(),
    "LanceDB's position scrawled over": lambda folder: scrawl(folder / "lancedb" / "position.json"),
}


@pytest.mark.parametrize(
    "damage",  # each of them is repaired in one process: tests/projections/test_damage.py
    long_but("all projections gone", "a segment cut short", "a LanceDB file cut short", of=DAMAGES),
)
def test_damaged_projections_are_mended_at_the_next_start(
    forge: Forge, copied: Path, undisturbed: Path, damage: str
) -> None:
    DAMAGES[damage](copied / "projections")
    child = forge.run(copied, ["status", "--json"], ["verify", "--json"])
    assert child.statuses() == [0, 0], stderr_of(child)
    assert child.answer()["differences"] == 0, child.answer()
    assert child.answer(0)["candidates"] == ROWS
    assert outcome(copied) == outcome(undisturbed)


@pytest.mark.parametrize("what", ["decisions.parquet", "*.lance"])
def test_bytes_that_changed_in_place_are_found_by_verify_and_mended_by_rebuild(
    forge: Forge, copied: Path, what: str
) -> None:
    scramble(largest(copied / "projections", what))
    child = forge.run(copied, ["verify", "--json"], ["rebuild"], ["verify", "--json"])
    assert child.answer(0)["differences"] > 0
    assert child.statuses() == [1, 0, 0], [stderr_of(child, n) for n in range(3)]
    assert child.answer(2)["differences"] == 0


# -- a damaged log -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [["verify"], ["rebuild"], ["log", "export", "FILE"], ["ingest", "FILE"]],
    ids=["verify", "rebuild", "export", "ingest"],
)
def test_a_damaged_event_is_reported_with_its_position_and_nothing_is_guessed(
    forge: Forge, copied: Path, tmp_path: Path, file: Path, command: list[str]
) -> None:
    position = 77
    with closing(sqlite3.connect(copied / "log.sqlite")) as log, log:
        [line] = log.execute("SELECT line FROM events WHERE position = ?", (position,)).fetchone()
        flipped = bytearray(line)
        flipped[len(flipped) // 2] ^= 0x01
        log.execute("UPDATE events SET line = ? WHERE position = ?", (bytes(flipped), position))
    log.close()
    before = (copied / "log.sqlite").read_bytes()
    target = file if command[0] == "ingest" else tmp_path / "exported"
    child = forge.run(copied, [str(target) if word == "FILE" else word for word in command])
    assert child.statuses() == [NO_STORE], stderr_of(child)
    assert f"position {position} is damaged" in stderr_of(child)
    assert (copied / "log.sqlite").read_bytes() == before


def test_a_file_that_is_no_log_is_reported(forge: Forge, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    scrawl(store / "log.sqlite")
    child = forge.run(store, ["status"])
    assert child.statuses() == [NO_STORE]
    assert "not a Palimpsest log" in stderr_of(child)


# -- moved and copied ----------------------------------------------------------------------------


def test_a_store_works_where_it_was_moved(forge: Forge, copied: Path, tmp_path: Path) -> None:
    """Also through its views, which name the place where they are."""
    ask = ["sql", "SELECT count(*) AS n FROM candidates", "--json"]
    before = forge.run(copied, ["status", "--json"]).answer()
    moved = tmp_path / "another place, 'quoted'" / "store"
    moved.parent.mkdir()
    copied.rename(moved)
    child = forge.run(moved, ask, ["status", "--json"], ["verify", "--json"])
    assert child.statuses() == [0, 0, 0], stderr_of(child)
    assert child.answer(0) == [{"n": ROWS}]
    assert child.answer(1) == before
    assert child.answer(2)["differences"] == 0


# -- a log that lost something -------------------------------------------------------------------


def test_a_log_that_lost_what_was_acknowledged_is_refused_until_the_loss_is_accepted(
    forge: Forge, file: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    killed = forge.run(store, ["ingest", str(file)], crash=["log:append", 4])
    assert killed.statuses() == []
    wal = store / "log.sqlite-wal"
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])
    child = forge.run(store, ["status"], ["ingest", str(file)], ["doctor"])
    assert child.statuses() == [NO_STORE, NO_STORE, 1]
    assert "--accept-loss" in stderr_of(child)
    going_on = ["rebuild", "--accept-loss"], ["status", "--json"], ["verify", "--json"]
    accepted = forge.run(store, *going_on, ["ingest", str(file)], ["verify", "--json"])
    assert accepted.statuses() == [0, 0, 0, 1, 0], stderr_of(accepted)
    assert accepted.answer(1)["candidates"] < ROWS
    assert accepted.answer(2)["differences"] == 0
    assert accepted.answer()["differences"] == 0


def test_an_older_log_beside_newer_projections_is_refused(
    forge: Forge, copied: Path, tmp_path: Path
) -> None:
    older = Path(shutil.copy(copied / "log.sqlite", tmp_path / "older"))
    more = tmp_path / "more.jsonl"
    more.write_text('{"owner_id": "zoe", "text": "Zoe plays the cello."}\n')
    assert forge.run(copied, ["ingest", str(more)]).statuses() == [0]
    shutil.copy(older, copied / "log.sqlite")
    child = forge.run(copied, ["recall", "zoe", "music"], ["rebuild", "--accept-loss"])
    assert child.statuses() == [NO_STORE, 0], stderr_of(child)
    assert forge.run(copied, ["verify", "--json"]).answer()["differences"] == 0


def test_a_damaged_root_stops_every_writer_and_status_says_what_verify_found(
    forge: Forge, copied: Path, file: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text('{"owner_id": "zoe", "text": "Zoe plays the cello."}\n')
    verified = forge.run(copied, ["verify"], ["status", "--json"]).answer()["verified"]
    assert verified["differences"] == 0
    assert verified["checked"] > 0
    with (copied / "log.sqlite").open("r+b") as log:
        log.seek(4096)
        log.write(b"x" * 4096)
    before = (copied / "log.sqlite").read_bytes()
    child = forge.run(copied, ["ingest", str(file)], ["ingest", str(more)], ["status"])
    assert child.statuses() == [NO_STORE] * 3
    assert "damaged" in stderr_of(child)
    assert (copied / "log.sqlite").read_bytes() == before
