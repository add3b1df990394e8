"""Repeats join during the import, vectors are kept if they fit, and a kill loses nothing."""

from __future__ import annotations

import base64
import gc
import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest

from palimpsest import Palimpsest
from palimpsest.api import store, submissions
from palimpsest.contracts.errors import UsageError
from palimpsest.jobs.import_source import bring_in, look_at, spool_rows
from palimpsest.sources import Item, SourcePlace, guess_mapping, spool
from palimpsest.sources.known_vectors import WAITING, KnownVectors, lowest_agreement
from palimpsest.sources.mapping import Array
from palimpsest.streams.embedder import DEFAULT_MODEL, Engine
from tests.docs.pages import ROOT
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.server.child import PROGRAM
from tests.palimpsest.sources.conftest import brought, memories
from tests.stub_engine import StubEngine, vector_of


def mem0_row(text: str, memory_id: str, **also: Any) -> dict[str, Any]:
    return {"id": memory_id, "user_id": "ada", "content": text, **also}


def faces(palimpsest: CommandLine) -> list[str]:
    return [
        row["face"] for row in palimpsest.json("sql", "SELECT face FROM memories ORDER BY face")
    ]


# -- exact repeats -------------------------------------------------------------------------------


ONE, TWO = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("rows", "speaks"),
    [
        pytest.param(
            [("Ada sings.", {"confidence": 0.5}), ("Ada sings. ", {"confidence": 0.9})],
            "Ada sings. ",
            id="the higher confidence",
        ),
        pytest.param(
            [
                ("Ada sings.", {"confidence": 0.9, "created_at": ONE}),
                ("Ada sings. ", {"confidence": 0.5, "created_at": TWO}),
            ],
            "Ada sings.",
            id="confidence before time",
        ),
        pytest.param(
            [
                ("Ada sings.", {"confidence": 0.9, "created_at": TWO}),
                ("Ada sings. ", {"confidence": 0.9, "created_at": ONE}),
            ],
            "Ada sings.",
            id="then the newest",
        ),
        pytest.param(
            [("Ada sings.", {"confidence": 0.1}), ("Ada sings. ", {})],
            "Ada sings.",
            id="a confidence before none",
        ),
        pytest.param([("Ada sings.", {}), ("Ada sings. ", {})], "Ada sings. ", id="the later row"),
    ],
)
def test_of_equal_rows_the_surest_and_newest_speaks(
    rows: list[tuple[str, dict[str, Any]]], speaks: str, palimpsest: CommandLine
) -> None:
    """Whatever other rows are between them."""
    others = [mem0_row(f"Another one, number {n} of all.", f"x{n}") for n in range(3)]
    [first, second] = [mem0_row(text, str(n), **also) for n, (text, also) in enumerate(rows)]
    path = palimpsest.file([first, *others, second])
    [repeat] = palimpsest.json("import", path, "--dry-run")["repeats"]
    palimpsest.json("import", path, "--yes")
    assert speaks in faces(palimpsest)
    kept, old = (first, second) if first["content"] == speaks else (second, first)
    assert repeat == {
        "owner_id": "ada",
        "old_id": old["id"],
        "keep_id": kept["id"],
        "assertion_preview": old["content"],
    }


def test_a_policy_says_how_sure_a_row_without_confidence_is(palimpsest: CommandLine) -> None:
    """`layered` assumes 0.9."""
    rows = [mem0_row("Ada sings.", "1", confidence=0.8), mem0_row("Ada sings. ", "2")]
    path = palimpsest.file(rows)
    palimpsest("policy", "set", "layered")
    [repeat] = palimpsest.json("import", path, "--dry-run")["repeats"]
    assert repeat["keep_id"] == "2"
    palimpsest.json("import", path, "--yes")
    assert faces(palimpsest) == ["Ada sings. "]


def test_a_new_store_will_say_it_by_the_policy_that_is_set(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_POLICY", "layered")
    path = palimpsest.file(
        [mem0_row("Ada sings.", "1", confidence=0.8), mem0_row("Ada sings. ", "2")]
    )
    [repeat] = palimpsest.json("import", path, "--dry-run")["repeats"]
    assert repeat["keep_id"] == "2"
    assert not palimpsest.store.exists()


@pytest.mark.parametrize("left", [[], ["log.sqlite"]])
def test_a_store_whose_creation_failed_is_a_new_one(
    palimpsest: CommandLine, left: list[str]
) -> None:
    """A full disk leaves the folder, or the file without content."""
    palimpsest.store.mkdir()
    for name in left:
        (palimpsest.store / name).touch()
    path = palimpsest.file([mem0_row("Ada sings.", "1")])
    assert palimpsest.json("import", path, "--dry-run")["rows"] == 1
    palimpsest.json("import", path, "--yes")
    assert faces(palimpsest) == ["Ada sings."]


def test_only_rows_of_one_owner_and_namespace_are_equal(palimpsest: CommandLine) -> None:
    rows = [
        mem0_row("Ada sings.", "1"),
        mem0_row("Ada sings.", "2") | {"user_id": "bob"},
        mem0_row("Ada sings.", "3", namespace="work"),
    ]
    path = palimpsest.file(rows)
    assert palimpsest.json("import", path, "--dry-run")["repeats"] == []
    assert palimpsest.json("import", path, "--yes")["decisions"] == {"stored": 3}


def test_an_invalid_row_is_named_by_its_place_in_the_source(palimpsest: CommandLine) -> None:
    """Also by the import, which decides on such rows after all others."""
    path = palimpsest.file(
        [mem0_row("Ada sings.", "1"), "no JSON", mem0_row("Ada paints.", "2"), {}, mem0_row("", "")]
    )
    foreseen = palimpsest.json("import", path, "--dry-run")["invalid_rows"]
    found = palimpsest.json("import", path, "--yes", status=1)["invalid_rows"]
    assert [one["row"] for one in foreseen] == [2, 4, 5]
    assert [one["row"] for one in found] == [2, 4, 5]


def test_an_id_that_several_rows_have_is_foreseen(palimpsest: CommandLine) -> None:
    """The row that is imported first gets it; a repeated row does not matter."""
    at = {"1": "2026-02-02", "2": "2026-02-01", "3": "2026-02-03"}
    rows = [
        mem0_row("Ada sings in a choir.", "1", created_at=at["1"]),
        mem0_row("Ada is from Turin.", "1", created_at=at["2"]),
        mem0_row("Ada has three cats.", "2", created_at=at["3"]),
        mem0_row("Ada has three cats.", "2", created_at=at["3"]),
        mem0_row("Bob sings.", "1", created_at=at["3"]) | {"user_id": "bob"},
        "no JSON",
    ]
    path = palimpsest.file(rows)
    foreseen = palimpsest.json("import", path, "--dry-run")
    assert foreseen["invalid"] == 2
    assert foreseen["repeats"] == [], "what has one id is one memory"
    assert [(row["row"], row["reason"]) for row in foreseen["invalid_rows"]] == [
        (1, "id_conflict"),
        (6, "not_json"),
    ]
    done = palimpsest.json("import", path, "--yes", status=1)
    assert (done["invalid"], done["known"]) == (2, 1)
    assert [(row["row"], row["reason"], row["detail"]) for row in done["invalid_rows"]] == [
        (row["row"], row["reason"], row["detail"]) for row in foreseen["invalid_rows"]
    ]


def test_another_store_of_the_same_name_gets_a_name_of_its_own(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    """Otherwise its ids would equal the first store's, which could no longer be exported."""
    first = palimpsest.file([mem0_row("Ada sings.", "1")], "notes.jsonl")
    (tmp_path / "other").mkdir()
    other = palimpsest.file([mem0_row("Ada lives in Turin.", "1")], "other/notes.jsonl")
    palimpsest.json("import", first, "--yes")
    ran = palimpsest("import", other, "--yes")
    assert ran.status == 2
    assert f"notes.jsonl is already the name of {first}" in " ".join(ran.err.split())
    assert palimpsest.json("import", other, "--yes", "--source", "b")["decisions"] == {"stored": 1}
    for path in (first, other):
        copy = str(tmp_path / f"cleaned-{Path(path).parent.name}")
        assert palimpsest.json("export", path, "--to", copy)["unknown"] == 0


def test_a_store_that_was_moved_is_known_by_its_name(palimpsest: CommandLine) -> None:
    first = Path(palimpsest.file([mem0_row("Ada sings.", "1")], "notes.jsonl"))
    palimpsest.json("import", str(first), "--yes")
    moved = first.rename(first.with_name("moved.jsonl"))
    known = palimpsest.json("import", str(moved), "--yes", "--source", "notes.jsonl")
    assert (known["known"], known["decisions"]) == (1, {})


def test_notes_of_imports_that_cannot_be_read_are_reported(palimpsest: CommandLine) -> None:
    path = palimpsest.file([mem0_row("Ada sings.", "1")])
    palimpsest.json("import", path, "--yes")
    notes = palimpsest.store / "imports.json"
    assert [json.loads(notes.read_text())[0][name] for name in ("path", "kind", "source")] == [
        path,
        "file",
        "rows.jsonl",
    ]
    notes.write_text('[{"path": 3}]')
    ran = palimpsest("import", path, "--yes")
    assert (ran.status, f"{notes} cannot be read" in " ".join(ran.err.split())) == (4, True)


def test_rows_come_in_by_time_where_each_has_one(palimpsest: CommandLine) -> None:
    rows = [mem0_row(f"Number {n} of all.", str(n), created_at=f"2026-01-0{n}") for n in (3, 1, 2)]
    palimpsest.json("import", palimpsest.file(rows), "--yes")
    found = palimpsest.json("sql", "SELECT producer_id FROM candidates ORDER BY position")
    assert [row["producer_id"] for row in found] == ["1", "2", "3"]


def test_rows_come_in_owner_by_owner(palimpsest: CommandLine) -> None:
    """So each owner is loaded only once, however many there are."""
    rows = [
        mem0_row(f"Number {n} of all.", str(n)) | {"user_id": f"owner {n % 3}"} for n in range(9)
    ]
    palimpsest.json("import", palimpsest.file(rows), "--yes")
    found = palimpsest.json("sql", "SELECT producer_id AS id FROM candidates ORDER BY position")
    assert [int(row["id"]) for row in found] == [0, 3, 6, 1, 4, 7, 2, 5, 8]


def test_a_preview_ends_between_characters(palimpsest: CommandLine) -> None:
    family = "👨\u200d👩\u200d👧\u200d👦"
    path = palimpsest.file([mem0_row(f"Ada: {family * 20}", str(n)) for n in range(2)])
    [repeat] = palimpsest.json("import", path, "--dry-run")["repeats"]
    assert repeat["assertion_preview"] == f"Ada: {family * 10}"
    palimpsest.json("import", path, "--yes")
    [row] = palimpsest.json("export", "--to", "new.jsonl", path)["changed_rows"]
    assert row["assertion_preview"] == f"Ada: {family * 10}"


def test_a_preview_is_short_and_no_markup(palimpsest: CommandLine) -> None:
    rows = [mem0_row("[red]\x1b[31m" + "word " * 40, str(n)) for n in range(2)]
    path = palimpsest.file(rows)
    [repeat] = palimpsest.json("import", path, "--dry-run")["repeats"]
    assert len(repeat["assertion_preview"]) == 80
    shown = palimpsest("import", path, "--dry-run").out
    assert "\x1b" not in shown
    assert "[red]" in shown


def test_from_python_a_source_is_named_as_at_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def noted(*args: Any, **named: Any) -> None:
        looked.append((args, named))
        raise UsageError("that is all")

    monkeypatch.setattr(submissions, "look_at", noted)
    with Palimpsest.open(tmp_path / "store", engine="none") as opened:
        with pytest.raises(UsageError, match="that is all"):
            opened.import_source("theirs")
        with pytest.raises(UsageError, match="that is all"):
            opened.import_source(
                "theirs",
                table="t",
                query="q",
                history="h",
                mapping={"words": "text"},
                owner="ada",
                source="s",
                trust=True,
            )
    assert looked == [
        (
            (SourcePlace(Path("theirs"), None, None, None, trust=False),),
            {"source": None, "owner": None, "renames": None},
        ),
        (
            (SourcePlace(Path("theirs"), "t", "q", Path("h"), trust=True),),
            {"source": "s", "owner": "ada", "renames": {"words": "text"}},
        ),
    ]


def test_it_reports_progress_and_reads_only_so_much(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_BATCH", 10)
    path = palimpsest.file(memories(25))
    brought_in = look_at(SourcePlace(Path(path)))
    read, told = [0], list[tuple[str, float | None, int]]()
    rows = brought_in.source.rows

    def counted() -> Iterator[Item]:
        for row in rows():
            read[0] += 1
            yield row

    def progress(text: str, share: float | None) -> None:
        told.append((text, share, read[0]))

    monkeypatch.setattr(brought_in.source, "rows", counted)
    with (
        Palimpsest.open(palimpsest.store) as opened,
        spool_rows(brought_in, None, progress) as down,
    ):
        assert [(text, at) for text, _, at in told] == [
            ("read 10 rows", 10),
            ("read 20 rows", 20),
            ("read 25 rows", 25),
        ]
        shares = [share for _, share, _ in told if share is not None]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        bring_in(opened.writer, brought_in, down, model=None, progress=progress)
    text, share, _ = told[-1]
    assert (text, share) == ("25 of 25 rows: 23 stored, 2 joined, 0 pending", 1.0)


def test_pythons_collector_rests_during_an_import(palimpsest: CommandLine) -> None:
    brought_in = look_at(SourcePlace(Path(palimpsest.file(memories(5)))))
    resting: list[bool] = []
    with (
        Palimpsest.open(palimpsest.store) as opened,
        spool_rows(brought_in, None, lambda *_: None) as down,
    ):
        bring_in(
            opened.writer,
            brought_in,
            down,
            model=None,
            progress=lambda *_: resting.append(not gc.isenabled()),
        )
    assert resting
    assert all(resting)
    assert gc.isenabled()


# -- vectors -------------------------------------------------------------------------------------


def lance_of(folder: Path, rows: list[dict[str, Any]], **wrong: Any) -> str:
    """A table with the vectors that the stub engine would make, and `wrong` ones by id."""
    vectored = [
        row | {"vector": wrong.get(row["id"], vector_of(row["content"])).astype("float32") * 3}
        for row in rows
    ]
    lancedb.connect(folder / "lance").create_table("notes", vectored)
    return str(folder / "lance")


@pytest.fixture(name="engine")
def watched_engine(palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch) -> StubEngine:
    engine = StubEngine()

    def load(*_: Any, **__: Any) -> Engine:
        return engine

    monkeypatch.setattr(store, "load_engine", load)
    return engine


NOTES = [
    mem0_row(f"Note {n}: {' '.join(f'w{n}x{m}' for m in range(6))}", f"n{n}") for n in range(60)
]
NAMED = ("--model-of-vectors", DEFAULT_MODEL)


def vectors_by_id(palimpsest: CommandLine) -> dict[str, dict[str, Any]]:
    """The recorded vector of each candidate, from the log."""
    file = palimpsest.store.with_name(f"{palimpsest.store.name}.jsonl")
    assert palimpsest("log", "export", str(file)).status == 0
    events = [json.loads(line) for line in file.read_text().splitlines()]
    return {
        event["data"]["candidate"]["id"]: event["data"]["content"]["vector"]
        for event in events
        if event["type"].endswith("decided.v1") and event["data"]["content"].get("vector")
    }


def test_vectors_of_the_model_come_along(
    palimpsest: CommandLine, engine: StubEngine, tmp_path: Path
) -> None:
    path = lance_of(tmp_path, NOTES)
    vectors = palimpsest.json("import", path, "--yes", *NAMED)["vectors"]
    assert vectors == {"there": 60, "taken": True, "tried": 20, "lowest_cosine": 1.0}
    assert len(engine.embedded) == 20
    found = vectors_by_id(palimpsest)
    assert {one["engine"] for one in found.values()} == {"import"}
    palimpsest.store = palimpsest.folder / "other"
    palimpsest.json("import", path, "--yes")
    anew = vectors_by_id(palimpsest)
    assert {one["engine"] for one in anew.values()} == {"stub"}
    assert {name: one["data"] for name, one in found.items()} == {
        name: one["data"] for name, one in anew.items()
    }


def test_afterwards_the_model_embeds_again(engine: StubEngine, tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store") as opened:
        opened.import_source(lance_of(tmp_path, NOTES[:20]), model_of_vectors=DEFAULT_MODEL)
        before = len(engine.embedded)
        opened.submit({"owner_id": "ada", "text": "Ada sings."})
        assert engine.embedded[before:] == ["Ada sings."]


def test_words_that_the_model_cannot_read_are_known_all_the_same(
    palimpsest: CommandLine, engine: StubEngine, tmp_path: Path
) -> None:
    """The guard needs them, and a vector does not contain them."""
    rows = [mem0_row(f"Number {n} of all likes 🍕 now.", str(n)) for n in range(2)]
    palimpsest.json("import", lance_of(tmp_path, rows), "--yes", *NAMED)
    found = vectors_by_id(palimpsest)
    assert [one.get("unknown") for one in found.values()] == [["🍕"], ["🍕"]]


@pytest.mark.parametrize(
    ("words", "wrong", "because"),
    [
        ((), {}, "their model is unknown"),
        (("--model-of-vectors", "another"), {}, "they are of another"),
        (NAMED, {"n0": vector_of("something else")}, "got another vector"),
    ],
)
def test_other_vectors_are_not_taken(
    words: tuple[str, ...],
    wrong: dict[str, Any],
    because: str,
    palimpsest: CommandLine,
    engine: StubEngine,
    tmp_path: Path,
) -> None:
    path = lance_of(tmp_path, NOTES[:20], **wrong)
    vectors = palimpsest.json("import", path, "--yes", *words)["vectors"]
    assert vectors["taken"] is False
    assert because in vectors["because"]
    assert {one["engine"] for one in vectors_by_id(palimpsest).values()} == {"stub"}
    assert len(set(engine.embedded)) == 20


def test_it_says_why_vectors_were_not_used(
    palimpsest: CommandLine, engine: StubEngine, tmp_path: Path
) -> None:
    told = palimpsest("import", lance_of(tmp_path, NOTES[:2]), "--yes")
    assert "its vectors were not used" in " ".join((told.out + told.err).split())


def test_vectors_of_another_length_are_not_taken(
    palimpsest: CommandLine, engine: StubEngine, tmp_path: Path
) -> None:
    path = lance_of(tmp_path, NOTES[:1], n0=np.ones(16, np.float16))
    assert palimpsest.json("import", path, "--yes", *NAMED)["vectors"]["taken"] is False


def test_a_row_whose_vector_is_of_another_length_is_embedded(
    palimpsest: CommandLine, engine: StubEngine, tmp_path: Path
) -> None:
    """Only a few rows are tried before all others are trusted."""
    rows = [
        row | {"vector": (vector_of(row["content"]) if n else np.ones(16, np.float16)).tolist()}
        for n, row in enumerate(NOTES)
    ]
    file = palimpsest.file([*rows[1:], rows[0]])
    vectors = palimpsest.json("import", file, "--yes", *NAMED)["vectors"]
    assert (vectors["there"], vectors["taken"]) == (60, True)
    found = vectors_by_id(palimpsest)
    assert {name for name, one in found.items() if one["engine"] == "stub"} == {"n0"}
    lengths = {len(base64.b64decode(one["data"])) for one in found.values()}
    assert lengths == {2 * engine.dimension}


def test_a_vector_that_has_gone_is_recreated() -> None:
    engine = StubEngine()
    known = KnownVectors(engine)
    for number in range(WAITING + 1):
        known.expect(f"text {number}", np.ones(384, np.float32))
    first, second, last = known.embed(["text 0", "text 1", f"text {WAITING}"])
    assert engine.embedded == ["text 0"]
    assert (first.origin, second.origin, last.origin) == (None, "import", "import")


def made_of(text: str) -> Array:
    """The stub engine's vector, in a form in which a source may keep it."""
    return vector_of(text).astype(np.float32)


def test_texts_come_back_in_their_order_whoever_embeds_them() -> None:
    engine = StubEngine()
    known = KnownVectors(engine)
    given = made_of("b") * 3
    known.expect("b", given)
    known.expect("c", np.ones(3, np.float32))
    found = known.embed(["a", "b", "a", "c"])
    assert engine.embedded == ["a", "c"]
    for one, text in zip(found, "abac", strict=True):
        np.testing.assert_array_equal(one.vector, vector_of(text).astype(np.float16))
    assert [one.origin for one in found] == [None, "import", None, None]
    assert known.embed([]) == []


def test_the_newest_vector_of_a_text_counts() -> None:
    known = KnownVectors(StubEngine())
    known.expect("a", made_of("x"))
    known.expect("a", made_of("a"))
    [found] = known.embed(["a"])
    np.testing.assert_array_equal(found.vector, vector_of("a").astype(np.float16))


def test_vectors_agree_as_little_as_the_worst_of_them() -> None:
    engine = StubEngine()
    agree = [("a", made_of("a") * 2), ("b", made_of("b"))]
    assert lowest_agreement(engine, agree) == pytest.approx(1, abs=1e-3)
    assert lowest_agreement(engine, [*agree, ("c", -made_of("c"))]) == pytest.approx(-1, abs=1e-3)
    assert lowest_agreement(engine, [*agree, ("c", np.ones(3, np.float32))]) == -1
    assert lowest_agreement(engine, []) == -1


def test_rows_that_are_tried_are_from_the_whole_source() -> None:
    """Each text is tried once, and all of them if there are few."""
    rows: list[Item] = [
        {"owner_id": "ada", "text": f"text {n // 2}", "vector": [float(n + 1)] * 16}
        for n in range(60)
    ]
    mapping, _ = guess_mapping(rows, {})
    with spool.Spool("s") as down:
        assert [*down.fill([*rows, {"owner_id": "ada", "text": "bare"}], mapping)] == [61]
        assert down.counts() == spool.SpoolCounts(rows=61, invalid=0, owners=1, vectors=60)
        tried = [text for text, _ in down.samples(3)]
        assert sorted(tried) == ["text 0", "text 10", "text 20"]
        most = {text for text, _ in down.samples(20)}
        assert len(most) == 20
        assert {"text 0", "text 28"} < most
        assert len(down.samples(31)) == 30
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        down.counts()


# -- killed --------------------------------------------------------------------------------------


def decided(folder: Path) -> int:
    """The number of candidates in a log that is being written to."""
    try:
        with closing(sqlite3.connect(f"file:{folder}/log.sqlite?mode=ro", uri=True)) as log:
            [count] = log.execute("SELECT count(*) FROM events").fetchone()
    except sqlite3.Error:
        return 0
    return int(count)


def test_killed_in_the_middle_and_run_again_nothing_is_lost_or_doubled(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    rows = memories(2_000)
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [*PROGRAM, "--store", str(palimpsest.store), "import", str(path), "--yes"]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as child:
        while not decided(palimpsest.store):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    before = palimpsest.json("sql", "SELECT count(*) AS n FROM candidates")[0]["n"]
    assert 0 < before < len(rows)
    summary = palimpsest.json("import", str(path), "--yes")
    assert summary["known"] == before
    found = brought(palimpsest)
    assert sorted(one["producer_id"] for one in found) == sorted(row["memory_id"] for row in rows)
    assert palimpsest.json("verify")["differences"] == 0


def test_the_preview_has_every_column_wherever_it_begins(palimpsest: CommandLine) -> None:
    """Times that only later rows have are recognised, and a field of the last row is listed."""
    rows = [{"id": str(n), "user": "ada", "text": f"Note {n}."} for n in range(150)]
    rows[120] |= {"created_at": "2026-03-01T10:00:00Z"}
    rows[149] |= {"room": "attic"}
    path = palimpsest.file(rows)
    shown = palimpsest.json("import", path, "--dry-run")
    assert shown["mapping"]["occurred_at"] == ["created_at"]
    mapped = [name for names in shown["mapping"].values() for name in names]
    assert {*mapped, *shown["as_metadata"], *shown["left_out"]} == {*rows[120], *rows[149]}
    palimpsest.json("import", path, "--yes")
    found = {one["producer_id"]: one for one in brought(palimpsest)}
    assert found["120"]["occurred_at"].startswith("2026-03-01T10:00:00")
    assert json.loads(found["149"]["metadata"]) == {"room": "attic"}


def test_a_wrong_mapping_is_repaired_by_retracting_the_import_and_importing_again(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    """As in docs/import.md: correctly read rows replace the wrong ones."""
    rows = [
        {"id": str(n), "user": "ada", "text": f"Note {n}.", "seen": f"2024-05-0{n}T10:00:00Z"}
        for n in range(1, 4)
    ]
    path = palimpsest.file(rows)
    palimpsest.json("import", path, "--yes", "--source", "notes")
    before = palimpsest.json("list", "ada")
    assert palimpsest("retract", "--source", "notes", "--yes").status == 0
    again = ("--source", "notes-2", "--map", "seen=occurred_at")
    assert palimpsest.json("import", path, "--yes", *again)["invalid"] == 0
    living = [one for one in brought(palimpsest) if one["living"]]
    assert [(one["source"], one["text"]) for one in living] == [
        ("notes-2", row["text"]) for row in rows
    ]
    assert [one["occurred_at"][:10] for one in living] == [row["seen"][:10] for row in rows]
    after = palimpsest.json("list", "ada")
    assert sorted(_faces(after)) == sorted(_faces(before))
    to = tmp_path / "cleaned.jsonl"
    assert palimpsest.json("export", path, "--to", str(to), "--source", "notes-2")["changes"] == 0


def _faces(listed: Any) -> list[str]:
    return [memory["face"] for memory in listed["memories"]]
