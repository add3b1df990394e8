"""A changed log: every command that meets it prints the same sentence, with exit status 4."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.errors import NewerError
from palimpsest.streams import embedder
from palimpsest.streams.embedder import ModelUnusable
from palimpsest.streams.log import checking
from palimpsest.streams.log.acknowledged import ACKNOWLEDGED_FILE
from tests.palimpsest.cli.conftest import CommandLine, row

PARIS = "She lives in Paris."
TEA = "Ada drinks tea in the morning."


@pytest.fixture
def damaged(palimpsest: CommandLine) -> CommandLine:
    """A log without the event that admitted Ada's first candidate, and with the gap closed."""
    palimpsest.holds(row(PARIS), row(TEA), row(PARIS, session_id="monday"))
    with closing(sqlite3.connect(palimpsest.store / LOG_FILE)) as log, log:
        log.execute("DELETE FROM events WHERE position = 2")
        log.execute("UPDATE events SET position = -position WHERE position > 2")
        log.execute("UPDATE events SET position = -position - 1 WHERE position < 0")
    log.close()
    (palimpsest.store / ACKNOWLEDGED_FILE).unlink()  # it would report that an event is missing
    return palimpsest


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["rebuild"],
        ["unmerge", "--candidate", "REPEAT", "--dry-run"],
        ["recall", "ada", "Paris", "--as-of", "3"],
        ["ingest", "MORE"],
    ],
    ids=lambda command: command[0],
)
def test_it_is_reported_with_the_position_and_what_to_do(
    damaged: CommandLine, command: list[str]
) -> None:
    told = {"REPEAT": repeat_of(damaged), "MORE": damaged.file([row("Tea again.")])}
    ran = damaged(*(told.get(word, word) for word in command))
    assert ran.status == 4, ran.err
    assert "position 2 names the candidate" in " ".join(ran.err.split())
    assert "restore log.sqlite from a copy" in " ".join(ran.err.split())
    assert "Paris" not in ran.err


def repeat_of(damaged: CommandLine) -> str:
    with closing(sqlite3.connect(damaged.store / LOG_FILE)) as log, log:
        [line] = log.execute("SELECT line FROM events WHERE position = 3").fetchone()
    log.close()
    found: str = line.decode().split('"subject":"')[1][:36]
    return found


def another_text(log: sqlite3.Connection) -> None:
    """Change the text of the first candidate's line, with a valid checksum."""
    [line] = log.execute("SELECT line FROM events WHERE position = 2").fetchone()
    changed = line.replace(PARIS.encode(), b"She lives in Rome.")
    assert changed != line
    values = (changed, zlib.crc32(changed))
    log.execute("UPDATE events SET line = ?, checksum = ? WHERE position = 2", values)


def another_id(log: sqlite3.Connection) -> None:
    """File the first candidate's event under another id."""
    log.execute("UPDATE events SET id = ? WHERE position = 2", (bytes(16),))


@pytest.mark.parametrize("damage", [another_text, another_id], ids=lambda one: one.__name__)
def test_verify_and_doctor_see_what_no_fold_stumbles_over(
    palimpsest: CommandLine, damage: Callable[[sqlite3.Connection], None]
) -> None:
    palimpsest.holds(row(PARIS), row(TEA), row(PARIS, session_id="monday"))
    with closing(sqlite3.connect(palimpsest.store / LOG_FILE)) as log, log:
        damage(log)
    log.close()
    ran = palimpsest("verify")
    assert ran.status == 4, ran.err
    assert "the event at position 2" in " ".join(ran.err.split())
    assert "restore log.sqlite from a copy" in " ".join(ran.err.split())
    assert "Rome" not in ran.err
    found = findings(palimpsest, status=1)["log"]
    assert not found["found"]
    assert "position 2" in found["detail"]


def test_its_export_is_not_imported(damaged: CommandLine) -> None:
    file = damaged.folder / "cut.jsonl"
    assert damaged("log", "export", str(file)).status == 0
    damaged.store = damaged.folder / "new"
    ran = damaged("log", "import", str(file))
    assert ran.status == 4
    assert "line 2 names the candidate" in " ".join(ran.err.split())
    assert not (damaged.store / LOG_FILE).exists()


def findings(palimpsest: CommandLine, *, status: int) -> dict[str, dict[str, Any]]:
    document = palimpsest.json("doctor", status=status)
    assert document["healthy"] is (status == 0)
    return {finding["name"]: finding for finding in document["findings"]}


def test_doctor_does_not_say_that_it_is_well(damaged: CommandLine) -> None:
    log = findings(damaged, status=1)["log"]
    assert not log["found"]
    assert "position 2" in log["detail"]


def test_doctor_advises_to_upgrade_if_a_newer_version_wrote_the_log(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older copy of an intact log would lose what was written since."""

    def newer(*_: object) -> None:
        raise NewerError("version 9 wrote this")

    palimpsest.holds(row(PARIS))
    monkeypatch.setattr(checking, "check_log", newer)
    log = findings(palimpsest, status=1)["log"]
    assert (log["detail"], log["remedy"]) == ("version 9 wrote this", "upgrade Palimpsest here")


def test_doctor_tries_the_model(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise ModelUnusable("its weights are cut short")

    monkeypatch.setattr(embedder, "load_engine", broken)
    model = findings(palimpsest, status=1)["model"]
    assert not model["found"]
    assert "its weights are cut short" in model["detail"]


def test_doctor_says_that_the_model_is_another_than_the_policys(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    palimpsest.holds(row(PARIS))
    assert findings(palimpsest, status=0)["policy"]["found"]
    monkeypatch.setenv("PALIMPSEST_MODEL", "paraphrase-MiniLM-L3-v2")
    found = findings(palimpsest, status=1)
    assert not found["policy"]["found"]
    assert "paraphrase-MiniLM-L3-v2" in found["policy"]["remedy"]
    assert not found["model"]["found"]
