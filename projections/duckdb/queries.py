"""The file that analysts open: `palimpsest.duckdb`, only views, never locked, replaced at once."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, Self

import duckdb
import orjson

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.identity import digest
from palimpsest.projections.base.files import OWNERS_ONLY, checksum, remove, sync
from palimpsest.projections.base.source import Effect, no_effect
from palimpsest.projections.duckdb import comments
from palimpsest.projections.duckdb.segments import FOLDER, SegmentWriter, listed
from palimpsest.projections.duckdb.user_sql import views_read
from palimpsest.projections.duckdb.views import FILE, Place, literal_glob, place_of, quoted, views

STORAGE = "v1.2.0"
"""The oldest DuckDB that opens the file; a file of 2.0's own format is closed to 1.5 (MEASURED)."""
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

Row = dict[str, Any]
Parameters = Sequence[object] | Mapping[str, object]
"""Values for a query's `?` in their order, or for its `$name` by name."""
Query = tuple[str, Parameters]

_waiting: list[_Instance] = []


@atexit.register
def _close_waiting() -> None:
    """Close what waits, before the process ends or forks: a child has none of its threads."""
    while _waiting:
        _waiting.pop().database.close()


os.register_at_fork(before=_close_waiting)

_LIMITS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "threads": THREADS,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


def views_file(folder: Path) -> Path:
    """Where the views of these projections are."""
    return folder / FILE


def ensure_views(folder: Path, effect: Effect = no_effect) -> bool:
    """Write the views, and the empty tables that they stand on, where they are not; tell if so.

    Views written at another place are rewritten, because DuckDB resolves no path against the
    file that a view is in.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    first = [s for s in listed(folder) if s.end == 0]
    if not first or first[-1].damage() is not None:
        _write_empty_tables(folder, effect)
    wanted = _views_in(views_file(folder), folder)
    stamp = _stamp(wanted)
    if _recorded(folder) == stamp:
        return False
    _write(views_file(folder), wanted, effect)
    _record(folder, stamp)
    return True


def _views_in(file: Path, folder: Path) -> dict[str, str]:
    """The views over a folder's segments that a file has; they tell if it was moved."""
    return views(Place(place_of(folder).segments, file.resolve().as_posix()))


def write_views(folder: Path, file: Path) -> None:
    """Write a file of views over these segments elsewhere, for those who cannot write beside them.

    UsageError if a file is there already.
    """
    if file.exists():
        raise UsageError(f"{file} is there already: name a file to be made")
    _write(file, _views_in(file, folder), no_effect)


def _record(folder: Path, stamp: str) -> None:
    """Keep the stamp beside the views, with the checksum of the file that has it.

    If the record is missing, torn or not of this file, such as one that an analyst wrote into, the
    views are written again.
    """
    known = {"stamp": stamp, "crc32": checksum(views_file(folder))}
    (folder / RECORD).write_bytes(orjson.dumps(known))
    (folder / RECORD).chmod(OWNERS_ONLY)


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


def _write(file: Path, wanted: dict[str, str], effect: Effect) -> None:
    beside = file.with_name(f"{file.name}.new")
    remove(beside)
    if "?" in str(beside):  # DuckDB would look for its write-ahead log in another folder
        with TemporaryDirectory() as elsewhere:
            _write_views(Path(elsewhere) / FILE, wanted)
            copyfile(Path(elsewhere) / FILE, beside)
    else:
        _write_views(beside, wanted)
    beside.chmod(OWNERS_ONLY)
    sync(beside)
    effect("views:written")
    remove(file.with_name(f"{file.name}.wal"))  # of an analyst who wrote into the former file
    beside.replace(file)
    sync(file.parent)


def _write_views(file: Path, wanted: dict[str, str]) -> None:
    with duckdb.connect(config=_LIMITS) as database:
        options = f"(STORAGE_VERSION {quoted(STORAGE)})"
        # In one transaction: comments one by one took four times as long.
        database.execute(f"ATTACH {quoted(str(file))} AS store {options}; USE store; BEGIN")
        _create_views(database, wanted)
        database.execute("COMMIT; USE memory; CHECKPOINT store; DETACH store")


def _create_views(database: duckdb.DuckDBPyConnection, wanted: dict[str, str]) -> None:
    for name, select in wanted.items():
        database.execute(f"CREATE OR REPLACE VIEW {name} AS {select}")
        database.execute(f"COMMENT ON VIEW {name} IS {quoted(comments.VIEWS[name])}")
    _comment_on_columns(database)


def _comment_on_columns(database: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "SELECT table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = current_database()"
    )
    said = (
        f'COMMENT ON COLUMN {view}."{column}" IS {quoted(comments.comment_of(view, column))}'
        for view, column in database.execute(columns).fetchall()
    )
    database.execute("; ".join(said))


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
    if not (folder / FOLDER).is_dir():
        raise StoreError(f"there are no views at {folder}: run `palimpsest rebuild duckdb`")
    try:
        return _rows(folder, asked)
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException):
            raise StoreError(f"the projections at {folder} cannot be read: {error}") from error
        raise UsageError(str(error)) from error


def _rows(folder: Path, asked: Sequence[Query], listings: int = LISTINGS) -> list[list[Row]]:
    try:
        return _listed_once(folder, asked)
    except duckdb.IOException as error:
        if LEFT not in str(error) or listings == 1:
            raise
    return _rows(folder, asked, listings - 1)


def _listed_once(folder: Path, asked: Sequence[Query]) -> list[list[Row]]:
    with _instance(folder) as instance, instance.database.cursor() as database:
        for text, _ in asked:
            instance.create(views_read(database, text))
        return [_objects(database.execute(text, _bound(given))) for text, given in asked]


@dataclass(frozen=True, slots=True, eq=False)
class _Instance:
    """An in-memory DuckDB that may read one store's segments, and nothing else.

    It has views of its own: an analyst may lock or change the file of views.
    """

    folder: Path
    database: duckdb.DuckDBPyConnection
    views: dict[str, str]
    """Those that no query has needed yet: creating all takes longer than most queries."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        place = place_of(folder)
        database = duckdb.connect(config=_LIMITS)
        # A pattern names the folder otherwise if a character of its path stands for others.
        readable = [f"{place.segments}/", f"{literal_glob(place.segments)}/"]
        database.execute(
            f"SET temp_directory = {quoted(f'{folder / FILE}.tmp')};"
            f" SET enable_external_file_cache = false;"
            f" SET allowed_directories = [{', '.join(map(quoted, readable))}];"
            " SET enable_external_access = false; SET lock_configuration = true"
        )
        return cls(folder, database, views(place))

    def create(self, names: Iterable[str] | None) -> None:
        """Create the views of these names; all, with their comments, if a query may see any."""
        if names is None and self.views:
            self.database.execute("BEGIN")
            _create_views(self.database, views(place_of(self.folder)))
            self.database.execute("COMMIT")
            self.views.clear()
        for name in self.views.keys() & set(names or ()):
            self.database.execute(f"CREATE VIEW {name} AS {self.views.pop(name)}")


@contextmanager
def _instance(folder: Path) -> Iterator[_Instance]:
    """An instance for one caller. Unless a query fails, it waits for the next one."""
    instance = _taken(folder.resolve())
    try:
        yield instance
    except BaseException:
        instance.database.close()
        raise
    _waiting.append(instance)
    with suppress(IndexError):  # another thread has taken one
        while len(_waiting) > KEPT:
            _waiting.pop(0).database.close()


def _taken(folder: Path) -> _Instance:
    for instance in [*_waiting]:
        if instance.folder == folder:
            with suppress(ValueError):  # another thread was quicker
                _waiting.remove(instance)
                return instance
    return _Instance.of(folder)


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
