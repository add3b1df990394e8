"""Whatever was done to the files behind our back is found, and repaired from the log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import lancedb
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from palimpsest.projections.base.files import CHUNK, checksum
from palimpsest.projections.duckdb.segments import (
    BUILDING,
    MANIFEST,
    Segment,
    SegmentWriter,
    _described,
    listed,
)
from palimpsest.projections.lancedb.files import STATE
from palimpsest.projections.lancedb.store import LanceStore
from palimpsest.projections.projector import Projector
from palimpsest.projections.verify import verify
from tests.long import long_but
from tests.projections.histories import History, MemoryLog

Damage = Callable[[Path], Any]


@dataclass(frozen=True)
class Store:
    """Projections in one place, which the views know, the same without damage, and their log."""

    folder: Path
    whole: Path
    log: MemoryLog


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Made once; nobody may change what is `whole`."""
    above = tmp_path_factory.mktemp("made")
    folder = above / "store"
    history = History(21)
    projector = Projector(folder, history.log)
    projector.start()
    for _ in range(4):
        history.steps(15)
        projector.submit(history.take())
        projector.flush()
    projector.close()
    return Store(folder, Path(shutil.copytree(folder, above / "whole")), history.log)


@pytest.fixture
def store(made: Store) -> Store:
    """A store in good order, to be damaged."""
    shutil.rmtree(made.folder)
    shutil.copytree(made.whole, made.folder)
    return made


def segment(folder: Path, number: int = 2) -> Segment:
    return [one for one in listed(folder) if one.end > 0][number]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change rows and the manifest with them, so that only the content is wrong."""
    one = segment(folder, 3)
    path = one.file("memories")
    pq.write_table(change(pq.read_table(path)), path)
    manifest = one.manifest()
    manifest["files"][path.name] = _described(path)
    (one.path / MANIFEST).write_bytes(orjson.dumps(manifest))


def other_face(rows: pa.Table) -> pa.Table:
    column = rows.schema.get_field_index("face")
    changed = pc.replace_with_mask(
        rows["face"].combine_chunks(), rows["living"].combine_chunks(), pa.scalar("another text")
    )
    return rows.set_column(column, "face", changed)


def another_memory(rows: pa.Table) -> pa.Table:
    first = rows.filter(rows["living"]).slice(0, 1)
    column = first.schema.get_field_index("memory_id")
    return pa.concat_tables([rows, first.set_column(column, "memory_id", pa.array(["nobody's"]))])


def in_lance(folder: Path, change: Callable[[Any], object], table: str = "memories") -> None:
    """Change rows of a table, and take that for right."""
    change(lancedb.connect(folder / "lancedb").open_table(table))
    state = orjson.loads((folder / "lancedb" / STATE).read_bytes())
    opened = lancedb.connect(folder / "lancedb").open_table(table)
    state["tables"][table]["version"] = opened.version
    state["tables"][table]["rows"] = opened.count_rows()
    (folder / "lancedb" / STATE).write_bytes(orjson.dumps(state))


def some(table: Any, count: int = 1) -> pa.Table:
    return table.search().limit(count).to_arrow()


SEEN_AT_START: dict[str, Damage] = {
    "a Parquet file cut short": lambda f: truncate(segment(f).file("candidates")),
    "the last Parquet file cut short": lambda f: truncate(segment(f, 3).file("decisions")),
    "a Parquet file missing": lambda f: segment(f).file("memories").unlink(),
    "a segment missing": lambda f: shutil.rmtree(segment(f).path),
    "the last segment missing": lambda f: shutil.rmtree(segment(f, 3).path),
    "a manifest missing": lambda f: (segment(f).path / MANIFEST).unlink(),
    "a manifest no JSON": lambda f: (segment(f).path / MANIFEST).write_bytes(b"{"),
    "a folder that is not a segment": lambda f: shutil.copytree(
        segment(f).path, f / "segments" / "copy"
    ),
    "all segments missing": lambda f: shutil.rmtree(f / "segments"),
    "the views missing": lambda f: (f / "palimpsest.duckdb").unlink(),
    "the views no database": lambda f: (f / "palimpsest.duckdb").write_bytes(b"nonsense"),
    "a LanceDB table missing": lambda f: shutil.rmtree(f / "lancedb" / "memories.lance"),
    "a LanceDB file missing": lambda f: next(
        (f / "lancedb" / "candidates.lance" / "data").iterdir()
    ).unlink(),
    "a LanceDB file cut short": lambda f: truncate(
        next((f / "lancedb" / "candidates.lance" / "data").iterdir())
    ),
    "LanceDB's position no JSON": lambda f: (f / "lancedb" / STATE).write_bytes(b"{"),
    "LanceDB missing": lambda f: shutil.rmtree(f / "lancedb"),
    "LanceDB written further": lambda f: (
        lancedb.connect(f / "lancedb").open_table("memories").delete("members > 0")
    ),
    "everything missing": shutil.rmtree,
}


def add_another(table: Any) -> None:
    nobodys = pa.array(["nobody's"], pa.string())
    table.add(some(table).set_column(0, table.schema.field(0), nobodys))


SEEN_BY_VERIFY: dict[str, tuple[list[Damage], set[str]]] = {
    "Parquet rows changed, and one more": (
        [lambda f: rewrite(f, other_face), lambda f: rewrite(f, another_memory)],
        {"duckdb memories differs", "duckdb memories extra"},
    ),
    "Parquet rows missing": (
        [lambda f: rewrite(f, lambda rows: rows.filter(pc.invert(rows["living"])))],
        {"duckdb memories differs", "duckdb memories missing"},
    ),
    "LanceDB rows missing, all of them": (
        [lambda f: in_lance(f, lambda t: t.delete("true"))],
        {"lancedb memories missing"},
    ),
    "LanceDB rows and vectors changed": (
        [
            lambda f: in_lance(f, lambda t: t.update(values={"face": "another text"})),
            lambda f: in_lance(f, lambda t: t.update(values={"vector": [0.5] * 12}), "candidates"),
        ],
        {"lancedb memories differs", "lancedb candidates differs"},
    ),
    "LanceDB rows missing, one twice and one more": (
        [
            lambda f: in_lance(f, lambda t: t.delete("owner_id = 'owner 1''s'"), "candidates"),
            lambda f: in_lance(f, lambda t: t.add(some(t))),
            lambda f: in_lance(f, add_another),
        ],
        {"lancedb candidates missing", "lancedb memories doubled", "lancedb memories extra"},
    ),
}
"""What is done to a store, and every kind of difference that it makes: where, and what."""


@pytest.mark.parametrize("name", SEEN_AT_START)
def test_damage_is_repaired_at_the_next_start(store: Store, name: str) -> None:
    SEEN_AT_START[name](store.folder)
    report = Projector(store.folder, store.log).start()
    found = verify(store.log, store.folder)
    assert found["differences"] == 0, found["details"]
    assert report.positions == {"lancedb": store.log.head(), "duckdb": store.log.head()}


ONE_OF_EACH = ("Parquet rows changed, and one more", "LanceDB rows and vectors changed")


@pytest.mark.parametrize("name", long_but(*ONE_OF_EACH, of=SEEN_BY_VERIFY))
def test_verify_finds_it_and_a_rebuild_repairs_it(store: Store, name: str) -> None:
    damages, kinds = SEEN_BY_VERIFY[name]
    for damage in damages:
        damage(store.folder)
    found = verify(store.log, store.folder)
    assert found["differences"] > 0
    assert found["checked"] > found["differences"]
    assert {f"{d['projection']} {d['table']} {d['what']}" for d in found["details"]} == kinds
    done = Projector(store.folder, store.log).rebuild()
    assert sum(one["differences"] for one in done.values()) == found["differences"]
    assert verify(store.log, store.folder)["differences"] == 0


def test_verify_reports_segments_that_end_before_the_log(store: Store) -> None:
    last = segment(store.folder, 3)
    shutil.rmtree(last.path)
    wrong = [d for d in verify(store.log, store.folder)["details"] if d["table"] == "segments"]
    assert [(one["projection"], one["key"], one["what"]) for one in wrong] == [
        ("duckdb", str(segment(store.folder).end), f"not at position {store.log.head()}")
    ]


def test_verify_reports_projections_that_are_beyond_the_log(store: Store) -> None:
    head = store.log.head()
    earlier = store.log.upto(head - 1)
    found = verify(earlier, store.folder)
    wrong = {(d["projection"], d["table"], d["key"], d["what"]) for d in found["details"]}
    beyond = f"not at position {earlier.head()}"
    assert wrong >= {
        ("duckdb", "segments", str(head), beyond),
        ("lancedb", "position", str(head), beyond),
    }


def test_verify_names_the_positions_that_no_segment_has(store: Store) -> None:
    gone = segment(store.folder)
    shutil.rmtree(gone.path)
    wrong = [d for d in verify(store.log, store.folder)["details"] if d["table"] == "segments"]
    assert [(one["key"], one["what"]) for one in wrong] == [(f"{gone.start}-{gone.end}", "missing")]


def test_any_changed_byte_of_a_segment_is_damage(store: Store) -> None:
    """Also where Parquet, Arrow or Python would raise something of their own over it."""
    one = segment(store.folder)
    for path in one.path.glob("*.parquet"):
        content = path.read_bytes()
        for place in range(0, len(content), len(content) // 40):
            damaged = bytearray(content)
            damaged[place] ^= 0xFF
            path.write_bytes(damaged)
            assert one.damage(thorough=True) is not None, (path.name, place)
            one.damage()
        path.write_bytes(content)
    assert one.damage(thorough=True) is None


def test_a_checksum_is_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(content := bytes(CHUNK) + b"the end")
    assert checksum(path) == crc32(content)


def test_bytes_that_are_not_those_written_are_not_read_as_rows(store: Store) -> None:
    path = segment(store.folder).file("decisions")
    content = bytearray(path.read_bytes())
    for place in range(4, pq.read_metadata(path).row_group(0).total_byte_size // 2, 3):
        content[place] ^= 0xFF
    path.write_bytes(content)
    found = verify(store.log, store.folder)
    assert [detail["what"] for detail in found["details"] if "other bytes" in detail["what"]]
    assert Projector(store.folder, store.log).rebuild()["duckdb"]["differences"] > 0
    assert verify(store.log, store.folder)["differences"] == 0


def test_verify_changes_nothing(store: Store) -> None:
    before = {p: p.stat().st_mtime_ns for p in store.folder.rglob("*") if p.is_file()}
    assert verify(store.log, store.folder)["differences"] == 0
    assert {p: p.stat().st_mtime_ns for p in store.folder.rglob("*") if p.is_file()} == before


def test_what_a_killed_process_was_building_takes_no_room_after_the_next_start(
    store: Store,
) -> None:
    killed = SegmentWriter(store.folder, 5)
    Projector(store.folder, store.log).start()
    assert not (store.folder / BUILDING).exists()
    killed.close()


def test_a_half_commit_to_lancedb_is_undone(store: Store) -> None:
    tables = LanceStore(store.folder / "lancedb")
    assert tables.open(store.log.head()) is False
    lancedb.connect(store.folder / "lancedb").open_table("memories").delete("members > 0")
    assert tables.open(store.log.head()) is True
    assert verify(store.log, store.folder)["differences"] == 0
