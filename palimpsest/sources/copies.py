"""Copies a source without some rows, in its own format; the original is untouched.

A copy is written under a temporary name, and renamed when it is complete.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.extras import require_extra
from palimpsest.sources import chroma, lance, mem0, qdrant
from palimpsest.sources.contract import Fields, Item, Kind, SourcePlace, one_of
from palimpsest.sources.detect import inside
from palimpsest.sources.file_copies import copy_file
from palimpsest.sources.mapping import FieldMapping
from palimpsest.sources.read_only import open_read_only
from palimpsest.sources.sqlite import quoted

PART = ".part"
SAYING: frozenset[Kind] = frozenset({"file", "sqlite", "lancedb", "chroma"})
"""Sources whose texts and vectors can be changed; Qdrant's points are pickled."""
_AT_ONCE = 100
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"


class RowEdit(NamedTuple):
    """A change of a row: new values for some of its fields, or None to remove it.

    `number` counts the rows of the source, from 1.
    """

    number: int
    item: Item
    said: Fields | None


Writing = Callable[[SourcePlace, Path, Sequence[RowEdit], FieldMapping], None]


def may_say(kind: Kind, mapping: FieldMapping, *, embeds: bool) -> bool:
    """Whether a source's texts can change without making other fields inconsistent.

    `embeds`: whether texts can be embedded with the model of the source's vectors.
    """
    vectors = kind == "chroma" or bool(mapping.fields.get("vector"))
    plain = bool(mapping.fields.get("text")) and not mapping.left_out
    return kind in SAYING and plain and (embeds or not vectors)


def write_copy(
    kind: Kind, place: SourcePlace, to: Path, edits: Sequence[RowEdit], mapping: FieldMapping
) -> None:
    """Write a source with some edits to `to`.

    Raises as `refuse_target` does, and UsageError if the source cannot be copied, or not without an
    option, or if the copy cannot be changed.
    """
    refuse_target(place, to)
    part = to.with_name(to.name + PART)
    _remove(part)
    if kind not in _WRITING:
        raise UsageError(f"{place.path} has no memories of its own to copy")
    try:
        _WRITING[kind](place, part, edits, mapping)
        part.replace(to)
    except sqlite3.Error as error:
        raise UsageError(f"the copy cannot be written: {error}") from error
    finally:
        _remove(part)


def refuse_target(place: SourcePlace, to: Path) -> None:
    """RefusedError for a target that exists; UsageError for one that is impossible."""
    refuse_existing(to)
    if place.path.resolve() in (to.resolve(), *to.resolve().parents):
        raise UsageError(f"{to} is inside the source, which is only read")
    if not to.parent.is_dir():
        raise UsageError(f"there is no folder {to.parent}")
    if place.path.name.endswith(lance.SUFFIX) and not to.name.endswith(lance.SUFFIX):
        raise UsageError(f"a LanceDB table is a folder that ends in {lance.SUFFIX}: name it so")


def refuse_existing(to: Path) -> None:
    """RefusedError for a file, folder or link that exists."""
    if to.exists() or to.is_symlink():
        raise RefusedError("target_exists", f"{to} exists already, and nothing is overwritten")


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)


# -- each format ---------------------------------------------------------------------------------


def _copy_rows_of_file(
    place: SourcePlace, to: Path, edits: Sequence[RowEdit], _mapping: FieldMapping
) -> None:
    removed = {edit.number for edit in edits if edit.said is None}
    values = {edit.number: edit.said for edit in edits if edit.said is not None}
    copy_file(place.path, to, removed, values)


def _copy_sqlite(
    place: SourcePlace, to: Path, edits: Sequence[RowEdit], mapping: FieldMapping
) -> None:
    with closing(sqlite3.connect(to)) as copy:
        with open_read_only(place.path) as source:
            source.backup(copy)
        if place.query and not place.table:
            raise UsageError("the rows are from a query: --table names the table to clean")
        names = [name for (name,) in copy.execute(_TABLES)]
        table = quoted(one_of(names, place.table, "table"))
        rows = {} if place.query else _sqlite_rows(copy, table, {edit.number for edit in edits})
        with copy:
            for edit in edits:
                changed = _edit_row(copy, table, edit, rows.get(edit.number), mapping)
                if changed != 1:
                    raise UsageError(
                        f"row {edit.number} cannot be identified: {changed} rows of {table}"
                        " have its id. Nothing was written"
                    )


def _edit_row(
    copy: sqlite3.Connection,
    table: str,
    edit: RowEdit,
    row_id: Fields | None,
    mapping: FieldMapping,
) -> int:
    """Change or delete a row, by its row id if it has one; returns the number of rows found."""
    found = row_id or _identity(edit, mapping)
    where = " AND ".join(f"{quoted(name)} = ?" for name in found)
    if edit.said is None:
        delete = f"DELETE FROM {table} WHERE {where}"  # noqa: S608 - quoted
        return copy.execute(delete, [*found.values()]).rowcount
    sets = ", ".join(f"{quoted(name)} = ?" for name in edit.said)
    update = f"UPDATE {table} SET {sets} WHERE {where}"  # noqa: S608 - quoted
    return copy.execute(update, [*edit.said.values(), *found.values()]).rowcount


def _sqlite_rows(
    copy: sqlite3.Connection, table: str, wanted: Collection[int]
) -> dict[int, Fields]:
    """The row ids of the wanted rows of a table, by number; empty if it has none.

    An id field may be missing, or the same in several rows.
    """
    columns = {name for _, name, *_ in copy.execute(f"PRAGMA table_info({table})")}
    hidden = next((name for name in ("rowid", "_rowid_", "oid") if name not in columns), None)
    try:
        # All columns: for a single one, SQLite may read an index in another order.
        found = copy.execute(f"SELECT {hidden}, * FROM {table}")  # noqa: S608 - quoted
    except sqlite3.OperationalError:
        return {}  # WITHOUT ROWID: its primary key is unique and never null
    numbered = enumerate(found, 1)
    return {number: {str(hidden): row[0]} for number, row in numbered if number in wanted}


def _copy_lancedb(
    place: SourcePlace, to: Path, edits: Sequence[RowEdit], _mapping: FieldMapping
) -> None:
    with require_extra("a LanceDB table", "lancedb"):
        import lancedb

    of_table = place.path.name.endswith(lance.SUFFIX)  # else it is the database's path
    whole = to.with_name(f"{to.name}{lance.SUFFIX}") if of_table else to
    _copy_folder(place.path, whole)
    try:
        folder, name = lance.locate_table(replace(place, path=whole))
        table = lancedb.connect(folder).open_table(name)
        # An id field may be missing, or the same in several rows.
        rows = lance.row_ids(table)
        gone = [str(rows[edit.number - 1]) for edit in edits if edit.said is None]
        for start in range(0, len(gone), _AT_ONCE):
            table.delete(f"_rowid IN ({', '.join(gone[start : start + _AT_ONCE])})")
        for edit in edits:
            if edit.said is not None:
                table.update(where=f"_rowid = {rows[edit.number - 1]}", values=edit.said)
        if of_table:
            whole.replace(to)
    finally:
        if of_table:
            _remove(whole)


def _identity(edit: RowEdit, mapping: FieldMapping) -> Fields:
    """What identifies a row without a row id: its id, and its owner if a field has it."""
    if not mapping.fields.get("id"):
        raise UsageError("no field is known to be the id: give --map THEIRS=id when you import")
    assert isinstance(edit.item, dict), "rows of databases are objects"
    names = [name for ours in ("id", "owner_id") for name in mapping.fields.get(ours, ())[:1]]
    if edit.item.get(names[0]) is None:
        raise UsageError(f"row {edit.number} has no id. Nothing was written")
    return {name: edit.item[name] for name in names if edit.item.get(name) is not None}


def _copy_qdrant(
    place: SourcePlace, to: Path, edits: Sequence[RowEdit], _mapping: FieldMapping
) -> None:
    with _copy_vectors(place, to, edits) as inside:
        gone = {str(edit.item["id"]) for edit in edits if isinstance(edit.item, dict)}
        with closing(sqlite3.connect(qdrant.locate_file(inside))) as copy, copy:
            rows = [(row,) for row, point in qdrant.points(copy) if str(point["id"]) in gone]
            copy.executemany("DELETE FROM points WHERE rowid = ?", rows)


def _copy_chroma(
    place: SourcePlace, to: Path, edits: Sequence[RowEdit], mapping: FieldMapping
) -> None:
    """Queue the changes as Chroma's client does: Chroma itself then updates its index."""
    with _copy_vectors(place, to, edits) as inside:
        collection = chroma.ChromaSource(inside).collection
        with closing(sqlite3.connect(inside.path / chroma.FILE)) as copy, copy:
            topic, last = chroma.topic_of(copy, collection), chroma.last_queued(copy)
            numbered = enumerate(edits, last + 1)
            queue = [(number, topic, *_queued(edit, mapping)) for number, edit in numbered]
            copy.executemany(_QUEUE, queue)


_QUEUE = """
INSERT INTO embeddings_queue (seq_id, topic, id, operation, vector, encoding, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""


def _queued(edit: RowEdit, mapping: FieldMapping) -> tuple[Any, ...]:
    """A queue entry: id, operation, vector, encoding and metadata."""
    assert isinstance(edit.item, dict), "entries are objects"
    if edit.said is None:
        return edit.item["id"], chroma.DELETE, None, None, None
    [name, *_] = mapping.fields["text"]
    text = {chroma.DOCUMENT if name == "document" else name: edit.said[name]}
    vector = edit.said[chroma.VECTOR]
    return edit.item["id"], chroma.UPDATE, vector, "FLOAT32", orjson.dumps(text).decode()


@contextmanager
def _copy_vectors(place: SourcePlace, to: Path, edits: Sequence[RowEdit]) -> Iterator[SourcePlace]:
    """Copy a folder with its vectors; then record the deletions in mem0's history in it."""
    vectors = inside(place)
    _copy_folder(place.path, to, ".lock")
    yield replace(vectors, path=to / vectors.path.relative_to(place.path))
    if vectors.history is not None and vectors.history.is_relative_to(place.path):
        _record_deletions(to / vectors.history.relative_to(place.path), edits)


def _copy_folder(path: Path, to: Path, *left_out: str) -> None:
    """Copy a folder; the copy is writable for its owner, even if the original is not."""
    shutil.copytree(path, to, ignore=shutil.ignore_patterns(*left_out))
    for copied in (to, *to.rglob("*")):
        copied.chmod(copied.stat().st_mode | stat.S_IWUSR)


def _record_deletions(history: Path, edits: Sequence[RowEdit]) -> None:
    """Record deletions of memories in mem0's history, as mem0 does."""
    now = datetime.now(UTC).isoformat()
    rows = [
        (str(uuid4()), edit.item["id"], edit.item.get("data"), now, now)
        for edit in edits
        if isinstance(edit.item, dict) and edit.said is None
    ]
    with closing(sqlite3.connect(history)) as copy, copy:
        copy.executemany(mem0.DELETED, rows)


_WRITING: Mapping[Kind, Writing] = {
    "file": _copy_rows_of_file,
    "sqlite": _copy_sqlite,
    "lancedb": _copy_lancedb,
    "qdrant": _copy_qdrant,
    "chroma": _copy_chroma,
}
