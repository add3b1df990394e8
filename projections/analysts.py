"""The file that analysts open: `palimpsest.duckdb`, only views, never locked, replaced at once."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import orjson

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.identity import digest
from palimpsest.projections import comments
from palimpsest.projections.files import checksum, remove, sync
from palimpsest.projections.segments import SegmentWriter, listed
from palimpsest.projections.source import Effect, no_effect
from palimpsest.projections.views import FILE, MOVED, place_of, quoted, views

STORAGE = "v1.2.0"
"""The oldest DuckDB that opens the file; a file of 2.0's own format is closed to 1.5 (MEASURED)."""
STAMPED = "; version "
"""Before the stamp, at the end of the comment on `log_position`."""
RECORD = "views.json"
"""What was last written as `palimpsest.duckdb`, for starts to come."""
MEMORY = "1GB"
THREADS = 2
LISTINGS = 5
"""How often the segments are listed again for one query, where some leave meanwhile."""
LEFT = "Cannot open file"
"""What DuckDB says of a file that it has listed and does not find."""
KEPT = 2
"""How many instances of DuckDB wait for the next query: most take less time than making one."""

_READING = frozenset(
    {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.PRAGMA}
)

Row = dict[str, Any]
Parameters = Sequence[object] | Mapping[str, object]
"""Values for a query's `?` in their order, or for its `$name` by name."""
Query = tuple[str, Parameters]

_REPEATABLE = _READING - {duckdb.StatementType.PRAGMA}
"""What leaves an instance as it was: a PRAGMA may set an option."""

_waiting: list[duckdb.DuckDBPyConnection] = []


@atexit.register
def _close_waiting() -> None:
    """Close what waits, before the process ends or forks: a child has none of its threads."""
    while _waiting:
        _waiting.pop().close()


os.register_at_fork(before=_close_waiting)

_LIMITS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "threads": THREADS,
    "autoinstall_known_extensions": False,
}


def views_file(folder: Path) -> Path:
    """Where the views of these projections are."""
    return folder / FILE


def ensure_views(folder: Path, effect: Effect = no_effect) -> bool:
    """Write the views, and the empty tables that they stand on, where they are not; tell if so.

    Views written at another place are rewritten, because DuckDB resolves no path against the
    file that a view is in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = [s for s in listed(folder) if s.end == 0]
    if not first or first[-1].damage() is not None:
        _write_empty_tables(folder, effect)
    wanted = views(place_of(folder))
    stamp = _stamp(wanted)
    if _recorded(folder) == stamp:
        return False
    missing = _written(folder) != stamp
    if missing:
        _write(folder, wanted, effect)
    _record(folder, stamp)
    return missing


def _record(folder: Path, stamp: str) -> None:
    """Keep the stamp beside the views, with the checksum of the file that has it.

    For the next start, because DuckDB takes longer to open than everything else there together.
    Nothing rests on it: where it is missing, torn or not of this file, DuckDB is asked.
    """
    known = {"stamp": stamp, "crc32": checksum(views_file(folder))}
    (folder / RECORD).write_bytes(orjson.dumps(known))


def _recorded(folder: Path) -> str | None:
    """The stamp of the views that are there, if it was recorded of just these bytes."""
    try:
        known = orjson.loads((folder / RECORD).read_bytes())
        same = known["crc32"] == checksum(views_file(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return known["stamp"] if same else None


def _write_empty_tables(folder: Path, effect: Effect) -> None:
    for segment in listed(folder):
        if segment.end == 0:
            remove(segment.path)
    with SegmentWriter(folder, 0, effect) as writer:
        writer.finish(0, complete=True)


def _stamp(wanted: dict[str, str]) -> str:
    """What tells these views from those of another place or version."""
    return digest(repr([sorted(wanted.items()), comments.known()]).encode())


def _written(folder: Path) -> str | None:
    """The stamp of the views that are there; None where the file cannot be read."""
    if not views_file(folder).is_file():
        return None
    try:
        with duckdb.connect(str(views_file(folder)), read_only=True, config=_LIMITS) as database:
            found = database.execute(
                "SELECT comment FROM duckdb_views() WHERE view_name = 'log_position'"
            ).fetchone()
    except duckdb.Error:
        return None
    return str(found[0]).rpartition(STAMPED)[2] if found else None


def _write(folder: Path, wanted: dict[str, str], effect: Effect) -> None:
    beside = folder / f"{FILE}.new"
    remove(beside)
    if "?" in str(beside):  # DuckDB would look for its write-ahead log in another folder
        with TemporaryDirectory() as elsewhere:
            _write_views(Path(elsewhere) / FILE, wanted)
            copyfile(Path(elsewhere) / FILE, beside)
    else:
        _write_views(beside, wanted)
    sync(beside)
    effect("views:written")
    beside.replace(views_file(folder))
    sync(folder)


def _write_views(file: Path, wanted: dict[str, str]) -> None:
    with duckdb.connect(config=_LIMITS) as database:
        options = f"(STORAGE_VERSION {quoted(STORAGE)})"
        # In one transaction: comments one by one took four times as long.
        database.execute(f"ATTACH {quoted(str(file))} AS store {options}; USE store; BEGIN")
        for name, select in wanted.items():
            database.execute(f"CREATE VIEW {name} AS {select}")
        for name in wanted:
            database.execute(f"COMMENT ON VIEW {name} IS {quoted(comments.VIEWS[name])}")
        stamped = f"{comments.VIEWS['log_position']}{STAMPED}{_stamp(wanted)}"
        database.execute(f"COMMENT ON VIEW log_position IS {quoted(stamped)}")
        _comment_on_columns(database)
        database.execute("COMMIT; USE memory; CHECKPOINT store; DETACH store")


def _comment_on_columns(database: duckdb.DuckDBPyConnection) -> None:
    columns = "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'store'"
    said = (
        f'COMMENT ON COLUMN {view}."{column}" IS {quoted(comments.comment_of(view, column))}'
        for view, column in database.execute(columns).fetchall()
    )
    database.execute("; ".join(said))


def _kinds(text: str) -> set[duckdb.StatementType]:
    """The kinds of its statements; UsageError for what is no query: the views are for reading."""
    instance = _taken()
    try:
        kinds = {statement.type for statement in instance.extract_statements(text)}
    except duckdb.Error as error:
        raise UsageError(str(error)) from error
    finally:
        _give_back(instance)
    if not kinds:
        raise UsageError("there is no query")
    if not kinds <= _READING:
        raise UsageError("only queries are allowed: the views follow from the log alone")
    return kinds


def query(folder: Path, text: str, parameters: Parameters = ()) -> list[Row]:
    """Rows of a read-only query over the views, as objects; a second `name` is `name_1`.

    UsageError where it is wrong, StoreError where the views are not there or unreadable.
    """
    return queries(folder, (text, parameters))[0]


def queries(folder: Path, *asked: Query) -> list[list[Row]]:
    """The rows of several queries with their parameters, through one connection.

    A segment that was merged into another may leave after a query has listed it and before it is
    opened: then all of them are run again. Errors as `query` has them.
    """
    kinds = {kind for text, _ in asked for kind in _kinds(text)}
    file = views_file(folder)
    if not file.is_file():
        raise StoreError(f"there are no views at {file}: run `palimpsest rebuild duckdb`")
    try:
        return _rows(file, asked, kinds <= _REPEATABLE)
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) or MOVED in str(error):
            raise StoreError(f"the projections at {folder} cannot be read: {error}") from error
        raise UsageError(str(error)) from error


def _rows(
    file: Path, asked: Sequence[Query], keep: bool, listings: int = LISTINGS
) -> list[list[Row]]:
    try:
        return _listed_once(file, asked, keep)
    except duckdb.IOException as error:
        if LEFT not in str(error) or listings == 1:
            raise
    return _rows(file, asked, keep, listings - 1)


def _listed_once(file: Path, asked: Sequence[Query], keep: bool) -> list[list[Row]]:
    path = str(file.resolve())
    with _instance(Path(f"{path}.tmp"), keep) as instance, instance.cursor() as database:
        database.execute(f"ATTACH {quoted(path)} AS {file.stem} (READ_ONLY); USE {file.stem}")
        rows = [_objects(database.execute(text, _bound(given))) for text, given in asked]
        database.execute(f"USE memory; DETACH {file.stem}")
        return rows


@contextmanager
def _instance(spill: Path, keep: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """An instance of DuckDB for one caller, which spills to this folder.

    Unless something fails, it waits for the next caller. While it waits it keeps nothing of the
    files that it read; one that has spilled could not, and cannot spill to another folder.
    """
    instance = _taken()
    try:
        instance.execute(
            f"SET temp_directory = {quoted(str(spill))}; SET enable_external_file_cache = true"
        )
        yield instance
        if keep:
            instance.execute("SET enable_external_file_cache = false")
    except BaseException:
        instance.close()
        raise
    if keep and not spill.exists():
        _give_back(instance)
    else:
        instance.close()


def _taken() -> duckdb.DuckDBPyConnection:
    try:
        return _waiting.pop()
    except IndexError:
        return duckdb.connect(config=_LIMITS)


def _give_back(instance: duckdb.DuckDBPyConnection) -> None:
    if len(_waiting) < KEPT:
        _waiting.append(instance)
    else:
        instance.close()


def _bound(parameters: Parameters) -> list[object] | dict[str, object]:
    return dict(parameters) if isinstance(parameters, Mapping) else [*parameters]


def _objects(found: duckdb.DuckDBPyConnection) -> list[Row]:
    names = _distinct(column[0] for column in found.description or ())
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _distinct(names: Iterable[str]) -> list[str]:
    """Names of columns, told apart as DuckDB does in subqueries: text, text_1, text_2."""
    all_names = [*names]
    found: dict[str, None] = {}
    for name in all_names:
        tries = chain([name], (f"{name}_{n}" for n in count(1)))
        free = (one for one in tries if one not in found and (one == name or one not in all_names))
        found[next(free)] = None
    return [*found]
