"""A source once more, beside itself, without some of its rows: in its own form, never in its place.

A copy is made under another name, and gets its own when it is whole.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.sources import chroma, lance, mem0, qdrant
from palimpsest.sources.contract import Fields, Item, Kind, Place, one_of
from palimpsest.sources.detect import inside
from palimpsest.sources.file_copies import copy_file
from palimpsest.sources.mapping import FieldMapping
from palimpsest.sources.read_only import opened
from palimpsest.sources.sqlite import quoted

PART = ".part"
SAYING: frozenset[Kind] = frozenset({"file", "sqlite", "lancedb"})
"""Sources in which a text may change; the others keep a vector with each."""
_AT_ONCE = 100


class Edit(NamedTuple):
    """What becomes of a row: it says another text, or (None) is left out.

    `number` counts the rows of the source, from 1.
    """

    number: int
    item: Item
    text: str | None


Writing = Callable[[Place, Path, Sequence[Edit], FieldMapping], None]


def may_say(kind: Kind, mapping: FieldMapping) -> bool:
    """Whether rows of a source can say another text: none has a vector that would be wrong then."""
    return kind in SAYING and not mapping.fields.get("vector") and not mapping.left_out


def write_copy(
    kind: Kind, place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping
) -> None:
    """Write a source with some edits to `to`.

    RefusedError where something is there; UsageError where the form needs what is not told.
    """
    refuse_target(place, to)
    part = to.with_name(to.name + PART)
    _remove(part)
    if kind not in _WRITING:
        raise UsageError(f"{place.path} has no memories of its own to copy")
    try:
        _WRITING[kind](place, part, edits, mapping)
        part.replace(to)
    finally:
        _remove(part)


def refuse_target(place: Place, to: Path) -> None:
    """RefusedError for a target that is there already; UsageError for one that cannot be."""
    if to.exists() or to.is_symlink():
        raise RefusedError("target_exists", f"{to} is there already, and nothing is written over")
    if place.path.resolve() in (to.resolve(), *to.resolve().parents):
        raise UsageError(f"{to} is inside of the source, which stays as it is")
    if not to.parent.is_dir():
        raise UsageError(f"there is no folder {to.parent}")
    if place.path.name.endswith(lance.SUFFIX) and not to.name.endswith(lance.SUFFIX):
        raise UsageError(f"a LanceDB table is a folder that ends in {lance.SUFFIX}: name it so")


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)


# -- each form -----------------------------------------------------------------------------------


def _file(place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping) -> None:
    removed = {edit.number for edit in edits if edit.text is None}
    texts = {edit.number: edit.text for edit in edits if edit.text is not None}
    field = next(iter(mapping.fields.get("text", ())), "")
    copy_file(place.path, to, removed, texts, field)


def _sqlite(place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping) -> None:
    with opened(place.path) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)
        names = [name for (name,) in copy.execute("SELECT name FROM sqlite_master")]
        if place.query and place.table not in names:
            raise UsageError("the rows are those of a query: --table names the table to clean")
        table = quoted(one_of(names, place.table, "table") if place.table else _only(copy))
        with copy:
            for edit in edits:
                found = _identity(edit.item, mapping)
                where = " AND ".join(f"{quoted(name)} = ?" for name in found)
                values = [*found.values()]
                if edit.text is None:
                    copy.execute(f"DELETE FROM {table} WHERE {where}", values)  # noqa: S608 - quoted
                else:
                    text = quoted(mapping.fields["text"][0])
                    copy.execute(
                        f"UPDATE {table} SET {text} = ? WHERE {where}",  # noqa: S608 - quoted
                        [edit.text, *values],
                    )


def _only(connection: sqlite3.Connection) -> str:
    text = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    return one_of([name for (name,) in connection.execute(text)], None, "table")


def _lancedb(place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping) -> None:
    import lancedb

    of_table = place.path.name.endswith(lance.SUFFIX)  # else the path is the database's
    whole = to.with_name(f"{to.name}{lance.SUFFIX}") if of_table else to
    shutil.copytree(place.path, whole)
    try:
        folder, name = lance.located(replace(place, path=whole))
        table = lancedb.connect(folder).open_table(name)
        wheres = [_lance_where(edit.item, mapping) for edit in edits if edit.text is None]
        for start in range(0, len(wheres), _AT_ONCE):
            table.delete(" OR ".join(f"({one})" for one in wheres[start : start + _AT_ONCE]))
        for edit in edits:
            if edit.text is not None:
                where = _lance_where(edit.item, mapping)
                table.update(where=where, values={mapping.fields["text"][0]: edit.text})
        if of_table:
            whole.replace(to)
    finally:
        if of_table:
            _remove(whole)


def _lance_where(item: Item, mapping: FieldMapping) -> str:
    found = _identity(item, mapping)
    return " AND ".join(f"`{name}` = {_literal(value)}" for name, value in found.items())


def _literal(value: Any) -> str:
    if isinstance(value, int | float):
        return str(value)
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'"


def _identity(item: Item, mapping: FieldMapping) -> Fields:
    """What a row alone has: its id, and its owner where a field says it."""
    if not mapping.fields.get("id"):
        raise UsageError("no field is known to be the id: give --map THEIRS=id when you import")
    assert isinstance(item, dict), "rows of databases are objects"
    names = [name for ours in ("id", "owner_id") for name in mapping.fields.get(ours, ())[:1]]
    return {name: item[name] for name in names if item.get(name) is not None}


def _qdrant(place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping) -> None:
    del mapping
    with _copied_vectors(place, to, edits) as inside:
        gone = _ids(edits)
        with closing(sqlite3.connect(qdrant.located(inside))) as copy, copy:
            rows = [(row,) for row, point in qdrant.points(copy) if str(point["id"]) in gone]
            copy.executemany("DELETE FROM points WHERE rowid = ?", rows)


def _chroma(place: Place, to: Path, edits: Sequence[Edit], mapping: FieldMapping) -> None:
    """Chroma itself takes them out of its index: its queue says so, as its own client would."""
    del mapping
    with _copied_vectors(place, to, edits) as inside:
        collection = chroma.ChromaSource(inside).collection
        with closing(sqlite3.connect(inside.path / chroma.FILE)) as copy, copy:
            topic, last = chroma.topic_of(copy, collection), chroma.last_queued(copy)
            rows = [
                (last + number, chroma.DELETE, topic, one)
                for number, one in enumerate(sorted(_ids(edits)), 1)
            ]
            copy.executemany(
                "INSERT INTO embeddings_queue (seq_id, operation, topic, id) VALUES (?, ?, ?, ?)",
                rows,
            )


@contextmanager
def _copied_vectors(place: Place, to: Path, edits: Sequence[Edit]) -> Iterator[Place]:
    """A copied folder, where its vectors are; mem0's history in it tells of what goes."""
    vectors = inside(place)
    shutil.copytree(place.path, to, ignore=shutil.ignore_patterns(".lock"))
    yield replace(vectors, path=to / vectors.path.relative_to(place.path))
    if vectors.history is not None and vectors.history.is_relative_to(place.path):
        _tell(to / vectors.history.relative_to(place.path), edits)


def _ids(edits: Sequence[Edit]) -> set[str]:
    return {edit.item["id"] for edit in edits if isinstance(edit.item, dict)}


def _tell(history: Path, edits: Sequence[Edit]) -> None:
    """Have mem0's history say that some memories were deleted, as mem0 does."""
    now = datetime.now(UTC).isoformat()
    rows = [
        (str(uuid4()), edit.item["id"], edit.item.get("data"), now, now)
        for edit in edits
        if isinstance(edit.item, dict)
    ]
    with closing(sqlite3.connect(history)) as copy, copy:
        copy.executemany(mem0.DELETED, rows)


_WRITING: Mapping[Kind, Writing] = {
    "file": _file,
    "sqlite": _sqlite,
    "lancedb": _lancedb,
    "qdrant": _qdrant,
    "chroma": _chroma,
}
