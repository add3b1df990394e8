# Queries are built from names in this package and quoted paths, never from input.
# ruff: noqa: S608
"""Compares two versions of a projection, row by row and column by column."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.vectors import numbers_of
from palimpsest.projections.duckdb.segments import listed
from palimpsest.projections.duckdb.tables import TABLES
from palimpsest.projections.duckdb.views import current, literal_glob, place_of, quoted
from palimpsest.projections.lancedb.store import FOLDER as LANCE_FOLDER
from palimpsest.projections.lancedb.store import read_state
from palimpsest.projections.lancedb.tables import FOREIGN, LANCE_TABLES, LanceTable

MOST_DETAILS = 1_000
"""Maximum number of listed differences; all are counted."""
DIGEST = "vector"


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs from the log; `columns` names those that differ, if both sides have it."""

    projection: str
    table: str
    key: str
    what: str
    columns: tuple[str, ...] = ()


@dataclass(slots=True)
class ProjectionComparison:
    """The number of rows compared, and those that differ."""

    checked: int = 0
    differences: int = 0
    details: list[Difference] = field(default_factory=list)

    def note(self, difference: Difference) -> None:
        """Count a difference, and list it unless there are too many."""
        self.differences += 1
        if len(self.details) < MOST_DETAILS:
            self.details.append(difference)

    def as_dict(self) -> dict[str, Any]:
        """The comparison as it is printed."""
        return {
            "differences": self.differences,
            "checked": self.checked,
            "details": [asdict(difference) for difference in self.details],
        }


def database(folder: Path) -> duckdb.DuckDBPyConnection:
    """A private database with little memory and two threads, which spills to disk."""
    return duckdb.connect(
        config={
            "memory_limit": "1GB",
            "threads": 2,
            "temp_directory": str(folder / "spilled"),
            "autoinstall_known_extensions": False,
        }
    )


def compare_segments(
    built: Path, folder: Path, position: int, comparison: ProjectionComparison
) -> None:
    """Compare a folder of Parquet files, one per table, with what the views read.

    If a segment's bytes are not those that were written, that counts as the difference: reading it
    could give wrong rows, or any error.
    """
    # The number of segments depends on which calls shared a commit: it is not compared.
    wrong = [(segment, segment.damage(thorough=True)) for segment in listed(folder)]
    for segment, why in wrong:
        if why is not None:
            comparison.note(Difference("duckdb", "segments", segment.path.name, why))
    if any(why for _, why in wrong):
        return
    place = place_of(folder)
    with database(built) as base:
        for table in TABLES:
            file = built / f"{table.name}.parquet"
            scan = f"read_parquet({quoted(literal_glob(file.as_posix()))})"
            living = " WHERE living" if table.buries else ""
            hidden = " EXCLUDE (living)" if table.buries else ""
            empty = f"SELECT *{hidden} FROM {place.scan(table.name)} LIMIT 0"
            expected = f"SELECT *{hidden} FROM {scan}{living}" if file.exists() else empty
            horizon = f"WITH horizon AS (SELECT {position} AS position) "
            base.execute(f"CREATE OR REPLACE TABLE expected AS {expected}")
            base.execute(f"CREATE OR REPLACE TABLE actual AS {horizon}{current(place, table)}")
            _compare(base, "duckdb", table.name, table.key, comparison)


def compare_lance(built: Path, folder: Path, comparison: ProjectionComparison) -> None:
    """Compare two folders of LanceDB tables, each at its recorded position."""
    _compare_models(built, folder / LANCE_FOLDER, comparison)
    with database(built) as base:
        for table in LANCE_TABLES:
            try:
                _load(base, "expected", built, table)
                _load(base, "actual", folder / LANCE_FOLDER, table)
            except StoreError as error:
                comparison.note(Difference("lancedb", table.name, "", str(error)))
                continue
            _compare(base, "lancedb", table.name, (table.key,), comparison)


def _compare_models(built: Path, live: Path, comparison: ProjectionComparison) -> None:
    """Compare the models, which determine the dimension of the tables, now and later."""
    comparison.checked += 1
    try:
        expected, actual = (read_state(folder).get("models") for folder in (built, live))
    except StoreError:
        return  # the tables cannot be read either, and comparing them reports that
    if actual != expected:
        comparison.note(Difference("lancedb", "models", "", "differs"))


def _load(base: duckdb.DuckDBPyConnection, name: str, folder: Path, table: LanceTable) -> None:
    """Load a LanceDB table into DuckDB, with a digest in place of each vector."""
    fields = [(column.name, column.type) for column in table.columns]
    schema = pa.schema([*fields, (FOREIGN, pa.string()), (DIGEST, pa.int64())])
    batches = _digested(folder, table, schema)
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    base.register("stream", reader)
    # A distinct text's row is the same at whichever position it was last written.
    columns = "* EXCLUDE (position)" if table.key == "distinct_id" else "*"
    try:
        base.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM stream")
    except Exception as error:
        raise StoreError(f"LanceDB's table {table.name} cannot be read") from error
    finally:
        base.unregister("stream")


def _digested(folder: Path, table: LanceTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    recorded = read_state(folder)["tables"].get(table.name)
    if recorded is None:
        return
    import lancedb

    opened = lancedb.connect(folder).open_table(table.name)
    opened.checkout(recorded["version"])
    for batch in opened.search().limit(recorded["rows"] + 1).to_batches(4_096):
        arrays = [batch.column(name) for name in schema.names if name != DIGEST]
        digests = pa.array(_digests(batch.column("vector")), pa.int64())
        yield pa.RecordBatch.from_arrays([*arrays, digests], schema=schema)


def _digests(vectors: pa.FixedSizeListArray) -> list[int | None]:
    rows = numbers_of(vectors)
    present = vectors.is_valid().to_pylist()
    return [
        zlib.crc32(row.tobytes()) if there else None
        for row, there in zip(rows, present, strict=True)
    ]


def _compare(
    base: duckdb.DuckDBPyConnection,
    projection: str,
    table: str,
    key: Sequence[str],
    comparison: ProjectionComparison,
) -> None:
    counts = "SELECT (SELECT count(*) FROM expected), (SELECT count(*) FROM actual)"
    [(expected, actual)] = base.execute(counts).fetchall()
    comparison.checked += expected
    if not expected and not actual:
        return
    same_key = " AND ".join(f"e.{name} = a.{name}" for name in key)
    shown = " || ' ' || ".join(f"coalesce(e.{name}, a.{name})::VARCHAR" for name in key)
    found = base.execute(
        f"SELECT {shown}, CASE WHEN a.{key[0]} IS NULL THEN 'missing'"
        f" WHEN e.{key[0]} IS NULL THEN 'extra' ELSE 'differs' END AS what,"
        f" list_filter([{_differing(base)}], lambda x: x IS NOT NULL) AS wrong"
        f" FROM expected e FULL JOIN actual a ON {same_key} WHERE len(wrong) > 0 ORDER BY ALL"
    )
    while rows := found.fetchmany(MOST_DETAILS):
        for shown_key, what, wrong in rows:
            columns = tuple(wrong) if what == "differs" else ()
            comparison.note(Difference(projection, table, shown_key, what, columns))
    grouped = ", ".join(key)
    doubled = base.execute(
        f"SELECT {shown} FROM (SELECT {grouped} FROM actual GROUP BY ALL HAVING count(*) > 1) a"
        f" LEFT JOIN expected e ON {same_key}"
    ).fetchall()
    for (shown_key,) in doubled:
        comparison.note(Difference(projection, table, shown_key, "doubled"))


def _differing(base: duckdb.DuckDBPyConnection) -> str:
    """For each column an expression: its name if the two rows differ in it, else null."""
    columns = base.execute("SELECT name FROM pragma_table_info('expected')").fetchall()
    return ", ".join(
        f"CASE WHEN e.{_name(name)} IS DISTINCT FROM a.{_name(name)} THEN {quoted(name)} END"
        for (name,) in columns
    )


def _name(name: str) -> str:
    return '"' + name + '"'
