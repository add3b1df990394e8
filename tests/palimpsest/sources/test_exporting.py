"""The cleaned copy: in the same format, beside the original, and any change can be undone."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow.parquet as pq
import pytest

from palimpsest.process.output import Output
from palimpsest.sources import copies
from palimpsest.sources.mapping import as_vector
from palimpsest.streams.embedder import DEFAULT_MODEL
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.sources.conftest import digests, memories
from tests.palimpsest.sources.test_sources import Rows, array, jsonl, lance, parquet, sqlite, table
from tests.stub_engine import vector_of

COUNT = 60
REMOVED = [f"m{number}" for number in range(9, COUNT, 10)]
"""Rows that repeat the row before them with less confidence."""


def packed(folder: Path, rows: Rows) -> Path:
    path = folder / "export.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(folder, rows).read_bytes()))
    return path


def bare_sqlite(folder: Path, rows: Rows) -> Path:
    """A table without vectors, so that its texts may change."""
    path = sqlite(folder, rows)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE notes DROP COLUMN embedding")
        connection.commit()
    return path


def read_table(path: Path) -> Rows:
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    return [row | {"confidence": float(row["confidence"])} for row in found]


def read_sqlite(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute("SELECT * FROM notes")]
    return [{name: row[name] for name in row if name != "embedding"} for row in found]


def read_lance(path: Path) -> Rows:
    found = lancedb.connect(path.parent).open_table(path.stem).to_arrow().to_pylist()
    return [{name: row[name] for name in row if name != "vector"} for row in found]


READ: list[tuple[Callable[[Path, Rows], Path], Callable[[Path], Rows]]] = [
    (jsonl, lambda path: [json.loads(line) for line in path.read_text().splitlines()]),
    (
        packed,
        lambda path: [
            json.loads(one) for one in gzip.decompress(path.read_bytes()).split(b"\n") if one
        ],
    ),
    (array, lambda path: list(json.loads(path.read_text()))),
    (table, read_table),
    (parquet, lambda path: list(pq.read_table(path).to_pylist())),
    (sqlite, read_sqlite),
    (lance, read_lance),
]


@pytest.mark.parametrize(("form", "read"), READ)
def test_the_copy_has_each_memory_once_and_a_row_comes_back(
    form: Callable[[Path, Rows], Path],
    read: Callable[[Path], Rows],
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    rows = memories(COUNT)
    path = form(tmp_path, rows)
    before = digests(path)
    palimpsest.json("import", str(path), "--yes")
    to = path.with_name(f"cleaned{''.join(path.suffixes)}")
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert digests(path) == before
    assert [row["old_id"] for row in report["changed_rows"]] == REMOVED
    assert [row["keep_id"] for row in report["changed_rows"]] == [
        f"m{number}" for number in range(8, COUNT, 10)
    ]
    assert read(to) == [row for row in rows if row["memory_id"] not in REMOVED]
    assert json.loads(to.with_name(to.name + ".report.json").read_text()) == report

    assert report["changed_rows"][2]["take_back"] == "palimpsest export … --keep m29"
    again = path.with_name(f"again{''.join(path.suffixes)}")
    palimpsest.json("export", str(path), "--to", str(again), "--keep", "m29")
    assert read(again) == [row for row in rows if row["memory_id"] not in set(REMOVED) - {"m29"}]
    assert digests(path) == before


ODD = [
    (None, "ada", "Ada likes tea."),
    ("b", "ada", "The office is in Berlin."),
    ("a", "ada", "Ada likes tea."),
    ("d", "bob", "Bob sleeps late."),
    ("d", "bob", "Bob eats late."),
    (None, "bob", "Bob sleeps late."),
]
"""Rows without an id, and two with the same id, of which the second is invalid. Of equal rows
the last stays."""


def odd_sqlite(folder: Path, how: str) -> Path:
    path = folder / "notes.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(f"CREATE TABLE notes (id TEXT, user_id TEXT, content TEXT{how};")
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?)", ODD)
    return path


def odd_lance(folder: Path, _: str) -> Path:
    names = ("id", "user_id", "content")
    rows = [dict(zip(names, row, strict=True)) for row in ODD]
    lancedb.connect(folder).create_table("notes", rows)
    return folder / "notes.lance"


@pytest.mark.parametrize(
    ("form", "how", "read"),
    [
        (odd_sqlite, ")", read_sqlite),
        (odd_sqlite, "); CREATE INDEX by_text ON notes (content)", read_sqlite),
        (odd_lance, "", read_lance),
    ],
)
def test_rows_without_an_id_or_with_anothers_are_told_apart(
    form: Callable[[Path, str], Path],
    how: str,
    read: Callable[[Path], Rows],
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    """One row is left out, and not all rows of its owner."""
    path = form(tmp_path, how)
    assert palimpsest("import", str(path), "--yes").status in (0, 1)
    to = path.with_name(f"cleaned{path.suffix}")
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert [row["row"] for row in report["changed_rows"]] == [1, 4]
    assert [tuple(row.values()) for row in read(to)] == [ODD[1], ODD[2], ODD[4], ODD[5]]


def test_of_equal_rows_without_an_id_the_last_stays(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    tea, office = ({"user_id": "ada", "content": one} for one in (ODD[0][2], ODD[1][2]))
    path = jsonl(tmp_path, [tea, office, tea, tea])
    palimpsest.json("import", str(path), "--yes")
    to = tmp_path / "a.jsonl"
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert [row["row"] for row in report["changed_rows"]] == [1, 3]
    assert [json.loads(line) for line in to.read_text().splitlines()] == [office, tea]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM notes", "row 1 has no id"),
        (
            "SELECT * FROM notes WHERE id IS NOT NULL OR user_id = 'bob'",
            "row 3 cannot be identified: 2 rows of",
        ),
    ],
)
def test_rows_of_a_query_that_cannot_be_told_apart_are_not_guessed(
    query: str, told: str, palimpsest: CommandLine, tmp_path: Path
) -> None:
    path = odd_sqlite(tmp_path, ")")
    palimpsest("import", str(path), "--yes", "--query", query, "--table", "notes")
    ran = palimpsest("export", str(path), "--to", str(tmp_path / "cleaned.db"))
    assert ran.status == 2, ran
    assert told in ran.err
    assert not list(tmp_path.glob("cleaned*"))


@pytest.mark.parametrize(
    ("form", "read"), [*READ[:5], pytest.param(bare_sqlite, read_sqlite, id="bare_sqlite")]
)
def test_a_row_says_what_its_memory_says(
    form: Callable[[Path, Rows], Path],
    read: Callable[[Path], Rows],
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    rows = memories(5)
    path = form(tmp_path, rows)
    palimpsest.json("import", str(path), "--yes")
    [found] = palimpsest.json(
        "sql", "SELECT candidate_id AS id FROM candidates WHERE producer_id = 'm3'"
    )
    assert palimpsest("update", found["id"], 'Ada said "so", twice.').status == 0
    to = path.with_name(f"cleaned{''.join(path.suffixes)}")
    [change] = palimpsest.json("export", str(path), "--to", str(to))["changed_rows"]
    assert (change["old_id"], change["change"]) == ("m3", "text")
    as_it_was = read(path)
    rows[3]["content"] = 'Ada said "so", twice.'
    assert read(to) == rows
    assert change["take_back"] == "palimpsest export … --keep m3"
    again = path.with_name(f"again{''.join(path.suffixes)}")
    palimpsest.json("export", str(path), "--to", str(again), "--keep", "m3")
    assert read(again) == as_it_was


@pytest.mark.parametrize(("form", "read"), [(sqlite, read_sqlite), (lance, read_lance)])
def test_a_row_with_a_vector_says_what_the_vector_is_of(
    form: Callable[[Path, Rows], Path],
    read: Callable[[Path], Rows],
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    rows = memories(5)
    path = form(tmp_path, rows)
    palimpsest.json("import", str(path), "--yes")
    [found] = palimpsest.json(
        "sql", "SELECT candidate_id AS id FROM candidates WHERE producer_id = 'm3'"
    )
    palimpsest("update", found["id"], "Ada moved.")
    to = path.with_name(f"cleaned{''.join(path.suffixes)}")
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert (report["changed"], report["left_as_they_are"]) == (0, 1)
    [left] = report["rows_left_as_they_are"]
    assert (left["row"], left["old_id"], left["memory_says"]) == (4, "m3", "Ada moved.")
    assert read(to) == rows
    shown = palimpsest("export", str(path), "--to", f"{to}.again{path.suffix}").out
    assert "1  stay unchanged, though their memory has another text" in shown
    assert "--model-of-vectors" in shown


def vectored(rows: Rows) -> Rows:
    """Rows with the vectors that the stub engine makes, three times as long."""
    return [row | {"embedding": (vector_of(row["content"]) * 3).tolist()} for row in rows]


def vectored_jsonl(folder: Path, rows: Rows) -> Path:
    return jsonl(folder, vectored(rows))


def vectored_parquet(folder: Path, rows: Rows) -> Path:
    return parquet(folder, vectored(rows))


def vectored_table(folder: Path, rows: Rows) -> Path:
    texts = [row | {"embedding": json.dumps(row["embedding"])} for row in vectored(rows)]
    return table(folder, texts)


def whole_sqlite(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM notes")]


def whole_lance(path: Path) -> Rows:
    found: Rows = lancedb.connect(path.parent).open_table(path.stem).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["memory_id"])


@pytest.mark.parametrize(
    ("form", "read", "field"),
    [
        (vectored_jsonl, READ[0][1], "embedding"),
        (vectored_table, read_table, "embedding"),
        (vectored_parquet, READ[4][1], "embedding"),
        (sqlite, whole_sqlite, "embedding"),
        (lance, whole_lance, "vector"),
    ],
)
def test_a_text_and_its_vector_change_together_where_the_model_is_known(
    form: Callable[[Path, Rows], Path],
    read: Callable[[Path], Rows],
    field: str,
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    path = form(tmp_path, memories(5))
    before = read(path)
    told = palimpsest.json("import", str(path), "--yes", "--model-of-vectors", DEFAULT_MODEL)
    assert told["vectors"]["taken"] is True
    [found] = palimpsest.json(
        "sql", "SELECT candidate_id AS id FROM candidates WHERE producer_id = 'm3'"
    )
    palimpsest("update", found["id"], "Ada moved.")
    to = path.with_name(f"cleaned{''.join(path.suffixes)}")
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert (report["changed"], report["left_as_they_are"]) == (1, 0)
    after = read(to)
    assert [one["memory_id"] for one in after] == [one["memory_id"] for one in before]
    was, became = as_vector(before[3].pop(field)), as_vector(after[3].pop(field))
    assert was is not None
    assert became is not None
    np.testing.assert_allclose(np.linalg.norm(became), np.linalg.norm(was), rtol=1e-3)
    unit = became / np.linalg.norm(became)
    np.testing.assert_allclose(unit, vector_of("Ada moved."), atol=1e-3)
    assert after == [
        row | ({"content": "Ada moved."} if number == 3 else {})
        for number, row in enumerate(before)
    ]


def test_where_a_stranger_speaks_the_last_row_stays(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    """The memory's text was there before the import."""
    told = [{"owner_id": "ada", "text": "Ada likes tea."}]
    palimpsest.ingest(*told)
    rows = [{"memory_id": one, "content": "Ada likes tea.", "user_id": "ada"} for one in "abc"]
    path = jsonl(tmp_path, rows)
    palimpsest.json("import", str(path), "--yes")
    to = tmp_path / "cleaned.jsonl"
    report = palimpsest.json("export", str(path), "--to", str(to))
    changes = [(row["old_id"], row["keep_id"]) for row in report["changed_rows"]]
    assert changes == [("a", "c"), ("b", "c")]


def test_what_was_forgotten_goes_and_can_come_back(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = jsonl(tmp_path, memories(5))
    palimpsest.json("import", str(path), "--yes")
    [found] = palimpsest.json(
        "sql", "SELECT candidate_id AS id FROM candidates WHERE producer_id = 'm3'"
    )
    assert palimpsest("forget", found["id"], "--yes").status == 0
    report = palimpsest.json("export", str(path), "--to", str(tmp_path / "a.jsonl"))
    [change] = report["changed_rows"]
    assert (change["old_id"], change["change"], change["keep_id"]) == ("m3", "forgotten", None)
    assert palimpsest(*shlex.split(change["take_back"])[1:], "--yes").status == 0
    assert palimpsest.json("export", str(path), "--to", str(tmp_path / "b.jsonl"))["changed"] == 0
    assert (tmp_path / "b.jsonl").read_bytes() == path.read_bytes()


def test_a_merge_is_taken_back_in_the_store_and_then_in_the_copy(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    """The second text speaks; the first is connected to it through the third."""
    texts = ("Ada sings.", "She is a singer.", "Her voice is known.", "Ada has a dog.")
    path = palimpsest.file(
        [{"id": str(n), "owner_id": "ada", "text": text} for n, text in enumerate(texts)]
    )
    palimpsest.json("import", path, "--yes")
    ids = palimpsest.ids()
    palimpsest.json("merge", ids[0], ids[2], "--face", ids[2])
    palimpsest.json("merge", ids[2], ids[1], "--face", ids[1])
    report = palimpsest.json("export", path, "--to", str(tmp_path / "a.jsonl"))
    assert [(row["old_id"], row["keep_id"]) for row in report["changed_rows"]] == [
        ("0", "1"),
        ("2", "1"),
    ]
    words = shlex.split(report["changed_rows"][0]["take_back"])
    assert words[:3] == ["palimpsest", "unmerge", "--decision"]
    assert palimpsest(*words[1:]).status == 0
    palimpsest.json("export", path, "--to", str(tmp_path / "b.jsonl"))
    left = [json.loads(line)["id"] for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert left == ["0", "1", "3"]


def test_no_more_changes_than_are_allowed(palimpsest: CommandLine, tmp_path: Path) -> None:
    rows = [{"id": str(n), "owner_id": "ada", "text": f"Note {n // 2} of Ada."} for n in range(402)]
    path = palimpsest.file(rows)
    palimpsest.json("import", path, "--yes")
    ran = palimpsest("export", path, "--to", str(tmp_path / "a.jsonl"))
    assert ran.status == 1
    assert "--max-changes 200 left out 1 of 201 changes" in ran.err.splitlines()[-1]
    report = json.loads((tmp_path / "a.jsonl.report.json").read_text())
    assert (report["changed"], report["left"], report["changes"]) == (200, 1, 201)
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 202
    words = ("--to", str(tmp_path / "b.jsonl"), "--max-changes", "300")
    assert palimpsest.json("export", path, *words)["changed"] == 201


def test_a_row_stays_if_the_one_that_says_the_same_is_not_there_any_more(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    rows = memories(10)
    path = jsonl(tmp_path, rows)
    palimpsest.json("import", str(path), "--yes")
    for number, said in enumerate(
        ([*rows[:8], rows[9]], [*rows[:8], rows[8] | {"content": "?"}, rows[9]])
    ):
        jsonl(tmp_path, said)
        to = tmp_path / f"{number}.jsonl"
        assert palimpsest.json("export", str(path), "--to", str(to))["changes"] == 0
        assert to.read_bytes() == path.read_bytes()


def test_a_person_is_asked_before_changes_are_left(
    palimpsest: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": str(n), "owner_id": "ada", "text": f"Note {n // 2} of Ada."} for n in range(402)]
    path = palimpsest.file(rows)
    palimpsest.json("import", path, "--yes")
    monkeypatch.setattr(Output, "asks", True)
    ran = palimpsest("export", path, "--to", str(tmp_path / "a.jsonl"), stdin="n\n")
    assert "needs 201 changes, and a run makes 200" in ran.err
    assert ran.status == 1
    ran = palimpsest("export", path, "--to", str(tmp_path / "b.jsonl"), stdin="y\n")
    assert (ran.status, len((tmp_path / "b.jsonl").read_text().splitlines())) == (0, 201)


def test_a_dry_run_writes_nothing(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = jsonl(tmp_path, memories(10))
    palimpsest.json("import", str(path), "--yes")
    before = sorted(tmp_path.iterdir())
    report = palimpsest.json("export", str(path), "--to", str(tmp_path / "a.jsonl"), "--dry-run")
    assert report["changed"] == 1
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_is_written_over(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = jsonl(tmp_path, memories(10))
    palimpsest.json("import", str(path), "--yes")
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    for to in (there, path):
        error = palimpsest.json("export", str(path), "--to", str(to), status=3)["error"]
        assert error["reason"] == "target_exists"
    report = tmp_path / "new.jsonl.report.json"
    report.write_text("mine")
    for more in ([], ["--dry-run"]):
        asked = ("export", str(path), "--to", str(tmp_path / "new.jsonl"), *more)
        error = palimpsest.json(*asked, status=3)["error"]
        assert error["reason"] == "target_exists"
        assert "new.jsonl.report.json exists already" in error["detail"]
    assert (report.read_text(), (tmp_path / "new.jsonl").exists()) == ("mine", False)
    assert there.read_text() == "mine"


def test_a_copy_that_fails_leaves_nothing(
    palimpsest: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = jsonl(tmp_path, memories(10))
    palimpsest.json("import", str(path), "--yes")
    before = sorted(tmp_path.iterdir())
    real = vars(copies)["copy_file"]

    def fails(*given: Any) -> None:
        real(*given)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "copy_file", fails)
    assert palimpsest("export", str(path), "--to", str(tmp_path / "a.jsonl")).status == 4
    assert sorted(tmp_path.iterdir()) == before


def test_a_copy_of_what_nobody_may_write_can_be_written(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    """Otherwise its owner could neither clean the copy nor use it."""
    path = lance(tmp_path, memories(20))
    modes = {one: one.stat().st_mode & ~0o222 for one in (path, *path.rglob("*"))}
    for one, mode in modes.items():
        one.chmod(mode)
    palimpsest.json("import", str(path), "--yes")
    copy = tmp_path / "cleaned.lance"
    assert palimpsest.json("export", str(path), "--to", str(copy))["changed"] == 2
    assert all(one.stat().st_mode & 0o200 for one in (copy, *copy.rglob("*")))
    assert {one: one.stat().st_mode for one in modes} == modes


def test_a_copy_is_not_inside_its_source(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = lance(tmp_path, memories(10))
    palimpsest.json("import", str(path), "--yes")
    ran = palimpsest("export", str(path), "--to", str(path / "copy.lance"))
    assert (ran.status, "inside the source" in ran.err) == (2, True)
    ran = palimpsest("export", str(path), "--to", str(tmp_path / "copy"))
    assert (ran.status, "ends in .lance" in ran.err) == (2, True)


def test_only_what_was_imported_is_exported(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = jsonl(tmp_path, memories(10))
    palimpsest.json("import", str(path), "--yes", "--source", "one")
    other = palimpsest.file([{"owner_id": "ada", "text": "Ada sings."}], "other.jsonl")
    ran = palimpsest("export", other, "--to", str(tmp_path / "a.jsonl"))
    assert (ran.status, "nothing was imported from" in ran.err) == (2, True)
    palimpsest.json("import", str(path), "--yes", "--source", "two")
    ran = palimpsest("export", str(path), "--to", str(tmp_path / "a.jsonl"))
    assert (ran.status, "choose one with --source (one, two)" in ran.err) == (2, True)
    words = ("--to", str(tmp_path / "a.jsonl"), "--source")
    ran = palimpsest("export", str(path), *words, "three")
    assert (ran.status, "not imported as three: name another --source (one, two)" in ran.err) == (
        2,
        True,
    )
    assert palimpsest.json("export", str(path), *words, "one")["source"] == "one"


def test_events_come_and_go_as_they_are(palimpsest: CommandLine, tmp_path: Path) -> None:
    """CloudEvents say what they are, so nothing is guessed about them."""
    events = [
        {
            "specversion": "1.0",
            "type": "palimpsest.candidate.v1",
            "source": "bot",
            "id": str(number),
            "data": {"owner_id": "ada", "text": text},
        }
        for number, text in enumerate(("Ada sings.", "Ada sings.\n", "Ada has a dog."))
    ]
    path = palimpsest.file(events)
    summary = palimpsest.json("import", path, "--yes", "--source", "bot")
    assert summary["decisions"] == {"stored": 2, "hash_exact": 1}
    palimpsest.json("export", path, "--to", str(tmp_path / "a.jsonl"))
    left = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert left == [events[1], events[2]]


def test_rows_of_a_query_need_a_table(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = sqlite(tmp_path, memories(20))
    query = "SELECT memory_id, content, user_id, confidence FROM notes"
    palimpsest.json("import", str(path), "--query", query, "--yes")
    ran = palimpsest("export", str(path), "--to", str(tmp_path / "a.db"))
    assert (ran.status, "--table names the table" in ran.err) == (2, True)
    palimpsest.json("import", str(path), "--query", query, "--table", "notes", "--yes")
    palimpsest.json("export", str(path), "--to", str(tmp_path / "a.db"))
    assert len(read_sqlite(tmp_path / "a.db")) == 18


@pytest.mark.parametrize(
    ("addition", "table", "told"),
    [
        (
            "CREATE VIEW seen AS SELECT * FROM notes",
            "seen",
            "there is no table seen: there are notes",
        ),
        (
            "CREATE TRIGGER kept BEFORE DELETE ON notes BEGIN SELECT raise(ABORT, 'all stay'); END",
            "notes",
            "the copy cannot be written: all stay",
        ),
    ],
)
def test_rows_that_cannot_be_removed_are_no_fault_of_the_source(
    addition: str, table: str, told: str, palimpsest: CommandLine, tmp_path: Path
) -> None:
    path = sqlite(tmp_path, memories(20))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(addition)
    palimpsest.json("import", str(path), "--table", table, "--yes")
    ran = palimpsest("export", str(path), "--to", str(tmp_path / "a.db"))
    assert (ran.status, ran.err) == (2, f"error: {told}\n")
    assert not list(tmp_path.glob("a.db*"))


def test_rows_that_the_store_does_not_know_stay(palimpsest: CommandLine, tmp_path: Path) -> None:
    rows = memories(10)
    path = jsonl(tmp_path, rows)
    palimpsest.json("import", str(path), "--yes")
    with path.open("a") as file:
        file.write("no JSON\n")
    to = tmp_path / "a.jsonl"
    report = palimpsest.json("export", str(path), "--to", str(to))
    assert (report["changed"], report["unknown"]) == (1, 1)
    assert to.read_text().endswith("no JSON\n")
