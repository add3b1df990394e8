"""Queries of the views, and `palimpsest.duckdb`, the file of views that analysts open.

The file has only views. Palimpsest never locks it, and replaces it atomically.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, Self

import duckdb
import orjson

from palimpsest.contracts.errors import StoreError, TransientError, UsageError
from palimpsest.contracts.identity import digest
from palimpsest.projections.base.files import OWNERS_ONLY, checksum, remove, sync
from palimpsest.projections.base.source import Effect, no_effect
from palimpsest.projections.duckdb import comments
from palimpsest.projections.duckdb.segments import FOLDER, SegmentWriter, chain, listed
from palimpsest.projections.duckdb.user_sql import views_read
from palimpsest.projections.duckdb.views import (
    FILE,
    FILES,
    Place,
    literal_glob,
    place_of,
    quoted,
    views,
)

STORAGE = "v1.2.0"
"""The oldest DuckDB that opens the file; 1.5 cannot open 2.0's own format."""
RECORD = "views.json"
"""The record of the last `palimpsest.duckdb` that was written, for later starts."""
MEMORY = "1GB"
THREADS = 2
LISTINGS = 20
"""How often a query lists the segments again if some have disappeared meanwhile."""
LEFT = ("Cannot open file", "No files found")
"""DuckDB's messages for a file that it was told to read but cannot find."""
KEPT = 2
"""Number of idle DuckDB instances that are kept: creating one takes longer than most queries."""

Row = dict[str, Any]
Parameters = Sequence[object] | Mapping[str, object]
"""Values for a query's `?`, in order, or for its `$name`, by name."""
Query = tuple[str, Parameters]

_waiting: list[_Instance] = []


@atexit.register
def _close_waiting() -> None:
    """Close idle instances before the process exits or forks: a child would lack their threads."""
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
    """The path of the file of views."""
    return folder / FILE


def ensure_views(folder: Path, effect: Effect = no_effect) -> bool:
    """Write the views and the empty tables below them, if missing.

    Returns whether it wrote views. Views from another path are rewritten, because DuckDB does not
    resolve paths against the file of the view.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    first = [s for s in listed(folder) if s.end == 0]
    if not first or first[-1].damage() is not None:
        _write_empty_tables(folder, effect)
    wanted = _views_in(views_file(folder), folder)
    stamp = digest(repr([sorted(wanted.items()), comments.known()]).encode())
    if _recorded(folder) == stamp:
        return False
    _write(views_file(folder), wanted, effect)
    _record(folder, stamp)
    return True


def _views_in(file: Path, folder: Path) -> dict[str, str]:
    """A folder's views for a file; a query of them fails if that file was moved."""
    return views(Place(place_of(folder).segments, file.resolve().as_posix()))


def write_views(folder: Path, file: Path) -> None:
    """Write views over these segments to another file, for users who cannot write beside them.

    UsageError if the file exists, or cannot be written.
    """
    if file.exists():
        raise UsageError(f"{file} exists already: name a new file")
    if not file.parent.is_dir():
        raise UsageError(f"{file} cannot be written: there is no folder {file.parent}")
    try:
        _write(file, _views_in(file, folder), no_effect)
    except (OSError, duckdb.IOException) as error:
        raise UsageError(f"{file} cannot be written: {error}") from error


def _record(folder: Path, stamp: str) -> None:
    """Keep the stamp beside the views, with the checksum of their file.

    The views are written again if the record is missing, torn or that of another file, such as one
    that an analyst has written to.
    """
    known = {"stamp": stamp, "crc32": checksum(views_file(folder))}
    (folder / RECORD).write_bytes(orjson.dumps(known))
    (folder / RECORD).chmod(OWNERS_ONLY)


def _recorded(folder: Path) -> str | None:
    """The stamp of the current views, if the file's bytes are unchanged."""
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


def _write(file: Path, wanted: dict[str, str], effect: Effect) -> None:
    beside = file.with_name(f"{file.name}.new")
    remove(beside)
    if "?" in str(beside):  # DuckDB would look for the write-ahead log in another folder
        with TemporaryDirectory() as elsewhere:
            _write_views(Path(elsewhere) / FILE, wanted)
            copyfile(Path(elsewhere) / FILE, beside)
    else:
        _write_views(beside, wanted)
    beside.chmod(OWNERS_ONLY)
    sync(beside)
    effect("views:written")
    remove(file.with_name(f"{file.name}.wal"))  # left by an analyst who wrote to the former file
    beside.replace(file)
    sync(file.parent)


def _write_views(file: Path, wanted: dict[str, str]) -> None:
    with duckdb.connect(config=_LIMITS) as database:
        options = f"(STORAGE_VERSION {quoted(STORAGE)})"
        # In one transaction, because one comment per transaction took four times as long.
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
    """Rows of a read-only query over the views, as objects; a second column `name` is `name_1`.

    Raises UsageError if the query is wrong, StoreError if the views are missing or unreadable,
    TransientError if the segments keep changing.
    """
    return queries(folder, (text, parameters))[0]


def queries(folder: Path, *asked: Query) -> list[list[Row]]:
    """The rows of several queries with their parameters, on one connection.

    If a merged segment disappears before a query has read it, all queries are retried. Raises the
    same errors as `query`.
    """
    if not (folder / FOLDER).is_dir():
        raise StoreError(f"there are no views at {folder}: run `palimpsest rebuild duckdb`")
    try:
        return _rows(folder, asked)
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException):
            raise StoreError(f"the projections at {folder} cannot be read: {error}") from error
        raise UsageError(_reason(folder, asked, error)) from None


def _reason(folder: Path, asked: Sequence[Query], error: duckdb.Error) -> str:
    """Why queries failed.

    DuckDB's own message is included only if the queries could not even be planned: then it cannot
    quote data.
    """
    try:
        _listed_once(folder, asked, "EXPLAIN ")
    except duckdb.Error:
        return str(error)
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Exception"))
    place = _marked(str(error))
    where = f" in `{place}`" if place and any(place in text for text, _ in asked) else ""
    return (
        f"{kind} error{where}: the query cannot handle one of its values. DuckDB's message is left"
        " out, because it may quote a memory"
    )


def _marked(message: str) -> str:
    """What DuckDB has marked in the query; empty if it has marked nothing."""
    line, _, marks = message.rpartition("\n")
    line = line.rpartition("\n")[2]
    return line[marks.find("^") : marks.rfind("^") + 1] if line.startswith("LINE ") else ""


def _rows(folder: Path, asked: Sequence[Query]) -> list[list[Row]]:
    left = LISTINGS
    while True:
        left -= 1
        try:
            return _listed_once(folder, asked)
        except duckdb.IOException as error:
            if not left or not any(message in str(error) for message in LEFT):
                raise


def _files(folder: Path) -> dict[str, list[str]]:
    """The files of each table, from the fewest segments that have all rows.

    If a segment appears while they are listed and those that it replaces disappear, the list may
    have neither, so it is made again.
    """
    for _ in range(LISTINGS):
        before = {*(folder / FOLDER).iterdir()}
        found = listed(folder)
        files: dict[str, list[str]] = defaultdict(list)
        with suppress(FileNotFoundError):
            for segment in [*(one for one in found if one.end == 0), *chain(found)[0]]:
                for table in segment.tables():
                    files[table].append(literal_glob(segment.file(table).as_posix()))
            if before.issubset((folder / FOLDER).iterdir()):
                return files
    raise TransientError(f"the segments at {folder} keep changing: try again later")


def _listed_once(folder: Path, asked: Sequence[Query], what: str = "") -> list[list[Row]]:
    with _instance(folder) as instance, instance.database.cursor() as database:
        database.execute(f"SET VARIABLE {FILES} = ?", [_files(instance.folder)])
        for text, _ in asked:
            instance.create(database, views_read(database, text))
        return _interruptible(
            database,
            lambda: [
                _objects(database.execute(what + text, _bound(given))) for text, given in asked
            ],
        )


def _interruptible(
    database: duckdb.DuckDBPyConnection, ask: Callable[[], list[list[Row]]]
) -> list[list[Row]]:
    """The rows of queries, which a signal to this process can end.

    While the main thread works on a query itself, DuckDB may notice no signal until the query is
    done, which can take days. So another thread asks, and the main one waits.
    """
    if threading.current_thread() is not threading.main_thread():
        return ask()
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(ask)
        try:
            return answer.result()
        except BaseException:
            database.interrupt()
            raise


@dataclass(slots=True, eq=False)
class _Instance:
    """An in-memory DuckDB that may read one store's segments, and nothing else.

    It has its own views: an analyst may lock or change the file of views.
    """

    folder: Path
    database: duckdb.DuckDBPyConnection
    views: dict[str, str]
    """The views not created yet: creating all takes longer than most queries."""
    commented: bool = False

    @classmethod
    def of(cls, folder: Path) -> Self:
        place = place_of(folder, named=True)
        database = duckdb.connect(config=_LIMITS)
        # If the path has wildcard characters, DuckDB names the folder with them escaped.
        readable = [f"{place.segments}/", f"{literal_glob(place.segments)}/"]
        database.execute(
            f"SET temp_directory = {quoted(f'{folder / FILE}.tmp')};"
            f" SET enable_external_file_cache = false;"
            f" SET allowed_directories = [{', '.join(map(quoted, readable))}];"
            " SET enable_external_access = false; SET lock_configuration = true"
        )
        return cls(folder, database, views(place))

    def create(self, database: duckdb.DuckDBPyConnection, names: Iterable[str] | None) -> None:
        """Create the views with these names; all, with their comments, if None."""
        if names is None and not self.commented:
            database.execute("BEGIN")
            _create_views(database, views(place_of(self.folder, named=True)))
            database.execute("COMMIT")
            self.views.clear()
            self.commented = True
        for name in self.views.keys() & set(names or ()):
            database.execute(f"CREATE VIEW {name} AS {self.views.pop(name)}")


@contextmanager
def _instance(folder: Path) -> Iterator[_Instance]:
    """An instance for one caller, kept for the next one unless a query fails."""
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
    """Unique column names, as in DuckDB's subqueries: text, text_1, text_2."""
    all_names = [*names]
    found: dict[str, None] = {}
    for name in all_names:
        tries = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(1)))
        free = (
            attempt
            for attempt in tries
            if attempt not in found and (attempt == name or attempt not in all_names)
        )
        found[next(free)] = None
    return [*found]
