"""Stores written by mem0 and Chroma themselves can be imported, and stay unchanged."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from palimpsest.streams.embedder import DEFAULT_MODEL
from tests.docs.pages import ROOT
from tests.palimpsest.cli.conftest import CommandLine, palimpsest, shelf
from tests.palimpsest.sources.conftest import COUNT, OWNERS, REPEATED, brought, digests, memories

__all__ = ["palimpsest", "shelf"]

pytestmark = [pytest.mark.mem0, pytest.mark.timeout(900)]
"""mem0 writes a thousand memories one by one, which takes minutes on a busy machine."""

PYTHON = ROOT / ".venv-mem0" / "bin" / "python"
SCRIPT = Path(__file__).with_name("memory.py")
OWNER_NAMES = [f"owner-{number}" for number in range(OWNERS)]


def there(what: str, folder: Path, kind: str, given: Any) -> str:
    """The output of the script in mem0's environment, with telemetry off."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}
    done = subprocess.run(
        [str(PYTHON), str(SCRIPT), what, str(folder), kind],
        input=json.dumps(given),
        env={**os.environ, **quiet, "MEM0_DIR": str(folder.parent / ".mem0")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbered() -> list[dict[str, Any]]:
    return [row | {"number": number} for number, row in enumerate(memories())]


@pytest.mark.parametrize("kind", ["qdrant", "chroma"])
def test_a_store_of_mem0_comes_in_whole(kind: str, palimpsest: CommandLine, tmp_path: Path) -> None:
    rows = numbered()
    folder = tmp_path / "theirs"
    there("write", folder, kind, rows)
    before = digests(folder)
    words = ("--trust",) if kind == "qdrant" else ()
    foreseen = palimpsest.json("import", str(folder), "--dry-run", *words)
    summary = palimpsest.json(
        "import", str(folder), "--yes", "--model-of-vectors", DEFAULT_MODEL, *words
    )
    assert digests(folder) == before
    # The last one, a repeat, was deleted.
    assert summary["decisions"] == {"stored": COUNT - REPEATED, "hash_exact": REPEATED - 1}
    assert foreseen["rows"] == summary["rows"] == COUNT - 1
    assert summary["vectors"]["taken"]

    found = {json.loads(one["metadata"])["number"]: one for one in brought(palimpsest)}
    assert len(found) == COUNT - 1
    for row in rows[:-1]:
        one = found[row["number"]]
        text = f"{row['content']}." if row["number"] == 1 else row["content"]
        assert (one["text"], one["owner_id"]) == (text, row["user_id"])
        assert one["session_id"] == row["run_id"]
        metadata = json.loads(one["metadata"])
        assert metadata["colour"] == "red"
        assert "text_lemmatized" not in metadata
    assert palimpsest.json("import", str(folder), "--yes", *words)["known"] == COUNT - 1


def test_what_is_pickled_is_read_only_if_it_is_trusted(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "theirs"
    there("write", folder, "qdrant", numbered()[:5])
    ran = palimpsest("import", str(folder), "--yes")
    assert ran.status == 2
    assert "confirm it with --trust" in ran.err
    assert palimpsest.json("import", str(folder), "--trust", "--yes")["rows"] == 4


def test_a_history_alone_has_the_last_wordings(palimpsest: CommandLine, tmp_path: Path) -> None:
    rows = numbered()[:5]
    there("write", tmp_path / "theirs", "qdrant", rows)
    history = str(tmp_path / "theirs" / "history.db")
    assert palimpsest("import", history, "--yes").status == 2
    palimpsest.json("import", history, "--owner", "ada", "--yes")
    wanted = {rows[0]["content"], f"{rows[1]['content']}.", rows[2]["content"], rows[3]["content"]}
    assert {one["text"] for one in brought(palimpsest)} == wanted


def test_a_collection_of_chroma_comes_in_whole(palimpsest: CommandLine, tmp_path: Path) -> None:
    rows = numbered()
    folder = tmp_path / "theirs"
    there("collect", folder, "chroma", rows)
    before = digests(folder)
    summary = palimpsest.json("import", str(folder), "--yes")
    assert digests(folder) == before
    assert summary["rows"] == COUNT - 1
    found = {one["producer_id"]: one for one in brought(palimpsest)}
    for row in rows[:-1]:
        one = found[row["memory_id"]]
        assert (one["text"], one["owner_id"]) == (row["content"], row["user_id"])
        assert one["confidence"] == row["confidence"]
        wanted = {"warm": True} | ({"page": 3} if row["number"] == 0 else {})
        assert json.loads(one["metadata"]) == wanted


def test_a_text_of_chromas_changes_with_its_vector(palimpsest: CommandLine, tmp_path: Path) -> None:
    """Chroma applies the change as if its own client had made it."""
    rows = numbered()[:50]
    folder, to = tmp_path / "theirs", tmp_path / "cleaned"
    there("collect", folder, "chroma", rows)
    before = digests(folder)
    told = palimpsest.json("import", str(folder), "--yes", "--model-of-vectors", DEFAULT_MODEL)
    assert told["vectors"]["taken"]
    found = {one["producer_id"]: one["candidate_id"] for one in brought(palimpsest)}
    palimpsest("update", found["m3"], "Ada moved to Lyon")
    report = palimpsest.json("export", str(folder), "--to", str(to))
    assert [row["old_id"] for row in report["changed_rows"] if row["change"] == "text"] == ["m3"]
    assert digests(folder) == before
    gone = {row["old_id"] for row in report["changed_rows"] if row["change"] == "removed"}
    assert gone
    wanted = {row["memory_id"]: row["content"] for row in rows[:-1]}
    wanted = {name: text for name, text in wanted.items() if name not in gone}
    wanted["m3"] = "Ada moved to Lyon"
    # At the first look Chroma applies its queue; the second look finds the result.
    for _ in range(2):
        look = json.loads(there("collected", to, "chroma", ["Ada moved to Lyon", wanted["m1"]]))
        assert look["documents"] == wanted
        assert look["metadatas"]["m3"]["user_id"] == rows[3]["user_id"], "the rest stays"
        assert look["hits"] == [["m3", 0.0], ["m1", 0.0]]


@pytest.mark.parametrize("kind", ["qdrant", "chroma"])
def test_a_store_goes_in_is_cleaned_un_merged_in_one_place_and_comes_out_for_mem0(
    kind: str, palimpsest: CommandLine, tmp_path: Path
) -> None:
    rows = numbered()
    for number in (2, 4):  # pairs that differ in a full stop
        same = {name: rows[number][name] for name in ("user_id", "run_id", "created_at")}
        rows[number + 1] |= same | {"content": f"{rows[number]['content']}."}
    folder, to = tmp_path / "theirs", tmp_path / "cleaned"
    there("write", folder, kind, rows)
    before = digests(folder)
    words = ("--trust",) if kind == "qdrant" else ()
    palimpsest.json("import", str(folder), "--yes", *words)
    joins = palimpsest.json("sql", "SELECT * FROM joins WHERE decision <> 'hash_exact'")
    assert len(joins) == 2
    palimpsest.json("unmerge", "--decision", joins[0]["decision_id"])
    export = ("export", str(folder), "--to", str(to), "--max-changes", "500", *words)
    report = palimpsest.json(*export)
    assert report["changed"] == REPEATED - 1 + 1
    assert digests(folder) == before

    stored = {one["producer_id"]: one["text"] for one in brought(palimpsest)}
    gone = {row["old_id"] for row in report["changed_rows"]}
    wanted = {name: text for name, text in stored.items() if name not in gone}
    # At the first read Chroma applies its queue; the second reads the result.
    for _ in range(2):
        found = json.loads(there("read", to, kind, OWNER_NAMES))
        assert found["memories"] == wanted
        assert len(found["hits"]) == 20
        assert set(found["hits"]) <= set(wanted.values())
    both = {rows[2]["content"], rows[3]["content"]}, {rows[4]["content"], rows[5]["content"]}
    came_back, joined = [len(some & set(wanted.values())) for some in both]
    assert sorted([came_back, joined]) == [1, 2]
    history = sqlite3.connect(to / "history.db")
    [told] = history.execute("SELECT count(*) FROM history WHERE event = 'DELETE'").fetchone()
    history.close()
    assert told == 1 + len(gone)
