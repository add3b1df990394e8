"""A law over all sources and policies: a cleaned copy still says everything that it leaves out."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.errors import RefusedError
from palimpsest.jobs.import_source import bring_in, look_at, spool_rows
from palimpsest.sources import SourcePlace, open_source
from palimpsest.sources.chroma import DOCUMENT, FILE
from palimpsest.streams.core.text import verbatim
from palimpsest.streams.judge.settings import JudgeSettings
from tests.long import examples
from tests.palimpsest.sources.test_chroma import TABLES
from tests.palimpsest.sources.test_qdrant import Point, collection, of_qdrant
from tests.palimpsest.sources.test_sources import Rows, array, jsonl, lance, parquet, sqlite, table
from tests.streams.judge.conftest import server
from tests.stub_engine import load_stub

__all__ = ["of_qdrant", "server"]


def chroma(folder: Path, rows: Rows) -> Path:
    """A collection whose vectors are only in its index."""
    path = folder / "chroma"
    path.mkdir()
    with closing(sqlite3.connect(path / FILE)) as connection, connection:
        connection.executescript(TABLES)
        connection.execute("DELETE FROM embeddings")
        for number, row in enumerate(rows, 1):
            connection.execute(
                "INSERT INTO embeddings VALUES (?, 's', ?)", (number, row["memory_id"])
            )
            told = {DOCUMENT: row["content"], "user_id": row["user_id"]}
            connection.executemany(
                "INSERT INTO embedding_metadata VALUES (?, ?, ?, NULL, NULL, NULL)",
                [(number, *one) for one in told.items()],
            )
    return path


def qdrant(folder: Path, rows: Rows, text: str = "content", **also: str) -> Path:
    path = collection(folder / f"qdrant-{text}", b"")
    where = path / "collection" / "notes" / "storage.sqlite"
    with closing(sqlite3.connect(where)) as connection, connection:
        connection.execute("DELETE FROM points")
        for row in rows:
            payload = {text: row["content"], "user_id": row["user_id"], **also}
            point = pickle.dumps(Point(id=row["memory_id"], payload=payload))
            connection.execute("INSERT INTO points VALUES (?, ?)", (row["memory_id"], point))
    return path


def mem0(folder: Path, rows: Rows) -> Path:
    return qdrant(folder, rows, "data", hash="of the text")


FORMS: list[Callable[[Path, Rows], Path]] = [
    *(jsonl, array, table, parquet, sqlite, lance),
    *(chroma, qdrant, mem0),
]
POLICIES = (
    "importance",
    "importance",
    "replace-or-merge",
    "store-time",
    "namespaced",
    "layered",
    "standard",
)
WORDS = "every single morning Ada walks her two old dogs along the quiet river".split()
OTHERS = ("lake", "calm", "cats", "evening")
TEXTS = st.dictionaries(st.integers(0, len(WORDS) - 1), st.sampled_from(OTHERS), max_size=2).map(
    lambda other: " ".join(other.get(n, word) for n, word in enumerate(WORDS))
)

NEAR = [" ".join([*WORDS[:-1], last]) for last in ("river", "lake", "canal")]
"""Three texts that are near each other: the rules of some policies compose one text of them."""


def rows_of(owner: str, texts: list[str]) -> Rows:
    return [
        {
            "memory_id": f"{owner}-{n}",
            "content": text,
            "user_id": owner,
            "run_id": "talk",
            "created_at": f"2026-03-{n + 1:02}",
            "confidence": 0.5,
            "colour": "red",
        }
        for n, text in enumerate(texts)
    ]


@pytest.fixture(autouse=True)
def _stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)


def bring(opened: Palimpsest, path: Path, name: str | None = None) -> str:
    """Import a source; return its name in the store."""
    brought = look_at(SourcePlace(path, trust=True), source=name)
    with spool_rows(brought, None, lambda _what, _share: None) as spool:
        bring_in(opened.writer, brought, spool, model=None, progress=lambda _what, _share: None)
    return brought.name


def imported(opened: Palimpsest, folder: Path, texts: list[str]) -> dict[str, Path]:
    """Import the same texts in each format, each for its own owner, all into one store."""
    found = {}
    for form in FORMS:
        name = form.__name__
        inside = folder / name
        inside.mkdir()
        path = form(inside, rows_of(name, texts))
        brought = look_at(SourcePlace(path, trust=True), source=name)
        with spool_rows(brought, None, lambda _what, _share: None) as spool:
            bring_in(opened.writer, brought, spool, model=None, progress=lambda _what, _share: None)
        found[name] = path
    return found


def in_copy(path: Path) -> dict[str, str]:
    """The texts of a copy by the ids of its rows."""
    rows = [
        row for row in open_source(SourcePlace(path, trust=True)).rows() if isinstance(row, dict)
    ]
    texts = ("content", "document", "data")
    return {
        str(row.get("memory_id", row.get("id"))): next(row[text] for text in texts if text in row)
        for row in rows
    }


def lost(opened: Palimpsest, name: str, left: dict[str, str]) -> set[str]:
    """The rows of a source of which `left` has neither the text nor any row judged the same."""
    rows = [row for row in opened.sql("SELECT * FROM candidates") if row["owner_id"] == name]
    ids = {row["candidate_id"]: row["producer_id"] for row in rows}
    same: dict[str, list[str]] = defaultdict(list)
    for join in opened.sql("SELECT * FROM joins WHERE standing AND face_rule <> 'text'"):
        same[join["candidate_id"]].append(join["joined_to"])
        same[join["joined_to"]].append(join["candidate_id"])
    texts = {verbatim(text) for text in left.values()}
    gone = set()
    for row in rows:
        reached = [row["candidate_id"]]
        for one in reached:
            reached += [other for other in same[one] if other not in reached]
        if verbatim(row["text"]) not in texts and not any(ids[one] in left for one in reached):
            gone.add(row["producer_id"])
    return gone


def sources(opened: Palimpsest, name: str) -> set[str]:
    """The rows of a source from which a standing text was composed."""
    of_texts = "SELECT unnest(sources) FROM compositions"
    found = opened.sql(
        "SELECT c.producer_id, c.owner_id FROM candidates c JOIN memories m USING (memory_id)"
        f" WHERE m.composed AND c.candidate_id IN ({of_texts})"
    )
    return {row["producer_id"] for row in found if row["owner_id"] == name}


@settings(
    max_examples=examples(6),  # each in nine formats
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=st.lists(TEXTS, min_size=3, max_size=6), policy=st.sampled_from(POLICIES))
@example(texts=NEAR, policy="importance")
@example(texts=NEAR, policy="replace-or-merge")
@pytest.mark.usefixtures("theirs")
def test_no_text_is_lost_by_an_export(server: JudgeServer, texts: list[str], policy: str) -> None:
    with (
        TemporaryDirectory() as name,
        Palimpsest.open(Path(name) / "store", policy=policy, by="person") as opened,
    ):
        folder = Path(name)
        came = imported(opened, folder, texts)
        if opened.policy.dedupe is not None:
            opened.dedupe(force=True, judge=JudgeSettings(base_url=server.url))
        for source, path in came.items():
            to = folder / f"cleaned-{path.name}"
            opened.export_source(path, to, source=source, trust=True)
            left = in_copy(to)
            assert lost(opened, source, left) == set()
            assert sources(opened, source) <= left.keys()
            assert {*left.values()} <= {*texts}
            event(f"{policy}: {'some composed' if sources(opened, source) else 'none composed'}")


def test_what_was_joined_to_a_composed_text_stays_beside_its_sources(tmp_path: Path) -> None:
    """The composed text is in no row; only exact repeats of a row are left out."""
    path = jsonl(tmp_path, rows_of("ada", [*NEAR[:2], NEAR[0]]))
    with Palimpsest.open(tmp_path / "store", policy="importance", by="person") as opened:
        name = bring(opened, path)
        opened.dedupe(force=True)
        [memory] = opened.sql("SELECT memory_id, composed, face FROM memories")
        assert memory["composed"]
        told = {"owner_id": "ada", "source": name, "id": "later", "text": NEAR[2]}
        [later] = opened.submit(told, source=name)
        assert later.candidate_id
        opened.merge(later.candidate_id, memory["memory_id"], face=memory["memory_id"])
        path.write_text(
            path.read_text() + json.dumps(rows_of("ada", NEAR)[2] | {"memory_id": "later"})
        )
        report = opened.export_source(path, tmp_path / "original.jsonl")
        assert [row["old_id"] for row in report["changed_rows"]] == ["ada-0"]
        left = in_copy(tmp_path / "original.jsonl")
        assert left == {"ada-1": NEAR[1], "ada-2": NEAR[0], "later": NEAR[2]}
        says = [(one["old_id"], one["memory_says"]) for one in report["rows_left_as_they_are"]]
        assert says == [(name, memory["face"]) for name in left]

        opened.export_source(path, tmp_path / "face.jsonl", texts="face")
        assert [*in_copy(tmp_path / "face.jsonl").values()] == [memory["face"]]
        few = opened.export_source(path, tmp_path / "few.jsonl", texts="face", max_changes=2)
        assert [row["change"] for row in few["changed_rows"]].count("text") == 1
        assert memory["face"] in in_copy(tmp_path / "few.jsonl").values()


@pytest.mark.parametrize("form", [sqlite, lance, chroma, qdrant, mem0])
def test_faces_are_refused_where_a_row_cannot_have_one(
    form: Callable[[Path, Rows], Path], theirs: type[Point], tmp_path: Path
) -> None:
    """Their vectors are from an unknown model, or their rows cannot be rewritten."""
    path = form(tmp_path, rows_of("ada", NEAR))
    with Palimpsest.open(tmp_path / "store", policy="importance", by="person") as opened:
        bring(opened, path)
        opened.dedupe(force=True)
        to = tmp_path / f"cleaned{path.suffix}"
        with pytest.raises(RefusedError, match="1 row cannot get") as refused:
            opened.export_source(path, to, texts="face", trust=True)
        assert refused.value.reason == "texts_stay"
        assert not to.exists()
