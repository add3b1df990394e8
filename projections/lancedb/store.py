"""LanceDB tables with a known position, to which they can be rolled back (docs/design.md).

LanceDB has no commit across two tables and never syncs. So each commit ends with a small file that
records the position, and the version and files of each table. At the next start, later versions
are rolled back and written again; if a file is missing or has a different size, all tables are
recreated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import remove, replace_json
from palimpsest.projections.base.models import Models
from palimpsest.projections.base.source import Effect, no_effect
from palimpsest.projections.base.vectors import Numbers
from palimpsest.projections.batch import Batch
from palimpsest.projections.duckdb.views import quoted
from palimpsest.projections.lancedb.files import STATE, check_files, sizes
from palimpsest.projections.lancedb.tables import (
    CANDIDATES,
    LANCE_TABLES,
    MEMORIES,
    WINDOWS,
    LanceTable,
    Writes,
)

if TYPE_CHECKING:
    import lancedb
    from lancedb.table import Table

FOLDER = "lancedb"
LAYOUT = 5
READABLE = (1, 2, 3, 4, LAYOUT)
"""Layouts that recall can read. A writer recreates tables of earlier layouts."""
DEFAULT_DIMENSION = 384
INDEXED_FROM = 10_000
"""Number of rows from which scalar indexes pay off: without them, each change reads all keys."""
FRAGMENTED = 64
"""Number of fragments from which a table is compacted, if a quarter of its rows is new."""
VERY_FRAGMENTED = 400
GRACE = timedelta(minutes=2)
"""How long earlier versions are kept for readers."""
METADATA_BYTES = 32 * 1024 * 1024
"""The size of LanceDB's cache of the metadata of versions, to which each commit adds. By default
it is a gigabyte."""
AT_ONCE = 1_000
APPENDED_AT_ONCE = 20_000
PAGE_ROWS = 5_000


def read_state(folder: Path) -> dict[str, Any]:
    """The position and the tables' versions. StoreError if missing or unreadable."""
    try:
        state: dict[str, Any] = orjson.loads((folder / STATE).read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise StoreError(f"LanceDB's {STATE} cannot be read") from error
    if state.get("layout") not in READABLE:
        raise StoreError("the LanceDB tables have the layout of another version")
    return state


class LanceStore:
    """The tables of one folder; one thread of one process writes."""

    def __init__(self, folder: Path, effect: Effect = no_effect) -> None:
        self.folder = folder
        self.position = 0
        self._effect = effect
        self._tables: dict[str, Table] = {}
        self._recorded: dict[str, Any] | None = None
        self._fragments: dict[str, int] = {}
        self._new_rows: dict[str, int] = {}
        self._dimension: int | None = None
        self._models = Models()
        self._added: defaultdict[str, list[pa.Table]] = defaultdict(list)

    def open(self, head: int, *, suspect: bool = False) -> bool:
        """Open the tables at their recorded position; returns whether a partial commit was undone.

        `head` is the log's last position: tables ahead of it are wrong. If every file is as
        recorded and the tables have reached `head`, they are opened on first use, because importing
        LanceDB takes seconds; `suspect` tables are opened now.

        Raises StoreError if something is damaged.
        """
        state = read_state(self.folder)
        if state["layout"] != LAYOUT:
            raise StoreError("the LanceDB tables have an earlier layout")
        if state["position"] > head:
            raise StoreError("LanceDB is ahead of the log")
        recorded = state["tables"]
        found = {name: sizes(self.folder / f"{name}.lance") for name in recorded}
        for name, table in recorded.items():
            check_files(name, table["files"], found[name])
        self._added.clear()
        self._tables.clear()  # a table of a failed commit would keep its rows
        self.position, self._dimension = state["position"], state["dimension"]
        self._models = Models.of(state["models"])
        self._recorded = recorded
        as_recorded = all(found[name] == table["files"] for name, table in recorded.items())
        if as_recorded and self.position == head and not suspect:
            return False
        return self._open_tables()

    def _live(self) -> dict[str, Table]:
        """The tables, opened if necessary."""
        if self._recorded is not None:
            self._open_tables()
        return self._tables

    def _open_tables(self) -> bool:
        recorded, self._recorded = self._recorded or {}, None
        ahead = False
        for name, table in recorded.items():
            ahead |= self._take_up(name, table["version"], table["rows"])
        if ahead:
            self.commit(self.position)
        return ahead

    def _take_up(self, name: str, version: int, rows: int) -> bool:
        """Open a table at its recorded version; any error from LanceDB means that it is damaged."""
        try:
            table = self._database().open_table(name)
            ahead = table.version != version
            if ahead:
                table.restore(version)
            found = table.count_rows()
        except Exception as error:
            raise StoreError(f"LanceDB's table {name} cannot be opened") from error
        if found != rows:
            raise StoreError(f"LanceDB's table {name} has {found} rows, not {rows}")
        self._hold(name, table)
        return ahead

    def _database(self) -> lancedb.DBConnection:
        import lancedb

        session = lancedb.Session(metadata_cache_size_bytes=METADATA_BYTES)
        return lancedb.connect(self.folder, session=session)

    def _hold(self, name: str, table: Table) -> None:
        self._tables[name] = table
        stats: Any = table.stats()  # a dict, whatever its annotation says (lancedb 0.40)
        self._fragments[name] = stats["fragment_stats"]["num_fragments"]
        self._new_rows[name] = 0

    def create(self) -> None:
        """Start empty; the tables are created when the dimension of the vectors is known."""
        remove(self.folder)
        self.folder.mkdir(mode=0o700, parents=True)
        self.position, self._dimension, self._models = 0, None, Models()
        self.close()
        self.commit(0)

    def apply(self, batch: Batch) -> None:
        """Write rows, table by table; they count only after `commit`."""
        self._models.add(batch.models)
        dimension = self._models.dimension or DEFAULT_DIMENSION
        if self._dimension is None and any(len(what.rows) for what in batch.writes.values()):
            self._dimension = dimension
            for table in (CANDIDATES, MEMORIES):
                self._make_table(table, dimension)
        elif self._dimension not in (None, dimension):
            self._make_anew(dimension)
        if self._dimension is not None:
            vectors = Numbers(batch.vectors, self._dimension)
            for table in (CANDIDATES, MEMORIES):
                self._write(table, batch.writes[table.name], vectors)
            # In most stores no text has windows.
            what = batch.writes[WINDOWS.name]
            if len(what.rows) and WINDOWS.name not in self._live():
                self._make_table(WINDOWS, vectors.dimension)
            if WINDOWS.name in self._live():
                self._delete(WINDOWS.name, "text_id", what.gone)
                self._effect(f"lancedb:{WINDOWS.name}")
                self._add(WINDOWS.name, WINDOWS.arrow(what.rows, what.places, vectors))

    def _make_table(self, table: LanceTable, dimension: int) -> None:
        remove(self.folder / f"{table.name}.lance")  # left by an unfinished commit
        made = self._database().create_table(table.name, schema=table.schema(dimension))
        self._hold(table.name, made)

    def _make_anew(self, dimension: int) -> None:
        """Convert the tables' vectors to another dimension, in a new version of each table.

        Only the tables are read, page by page, because they also hold the foreign vectors.
        """
        for table in LANCE_TABLES:
            if table.name not in self._live():
                continue
            self._flush(table.name)
            self._effect(f"lancedb:{table.name}:anew")
            old = _pages(self._live()[table.name])
            schema = table.schema(dimension)
            rows = pa.RecordBatchReader.from_batches(schema, table.of_dimension(old, dimension))
            made = self._database().create_table(
                table.name, rows, schema, mode="overwrite", on_bad_vectors="null"
            )
            self._hold(table.name, made)
            self._index(table.name)
        self._dimension = dimension

    def _write(self, table: LanceTable, what: Writes, vectors: Numbers) -> None:
        self._effect(f"lancedb:{table.name}")
        changed = ~what.new
        if not changed.any():
            self._add(table.name, table.arrow(what.rows, what.places, vectors))
        else:
            rows = what.rows.filter(pa.array(what.new))
            self._add(table.name, table.arrow(rows, what.places[what.new], vectors))
            rows = what.rows.filter(pa.array(changed))
            self._effect(f"lancedb:{table.name}:changed")
            self._merge(table, table.arrow(rows, what.places[changed], vectors))
        self._delete(table.name, table.key, what.gone)

    def _delete(self, name: str, column: str, gone: Sequence[str]) -> None:
        for start in range(0, len(gone), AT_ONCE):
            self._flush(name)
            some = map(quoted, gone[start : start + AT_ONCE])
            self._live()[name].delete(f"{column} IN ({', '.join(some)})")

    def _add(self, name: str, rows: pa.Table) -> None:
        """Queue rows to append together: an append costs as much as a few thousand rows."""
        if len(rows):
            self._added[name].append(rows)
            if sum(map(len, self._added[name])) >= APPENDED_AT_ONCE:
                self._flush(name)

    def flush(self) -> None:
        """Append the queued rows; they still count only after `commit`."""
        for name in [*self._added]:
            self._flush(name)

    def _flush(self, name: str) -> None:
        added, self._added[name] = self._added[name], []
        if added:
            rows = pa.concat_tables(added)
            self._live()[name].add(rows, write_parallelism=1)
            self._note(name, len(rows))

    def _note(self, name: str, new_rows: int) -> None:
        self._fragments[name] += 1
        self._new_rows[name] += new_rows

    def _merge(self, table: LanceTable, rows: pa.Table) -> None:
        self._flush(table.name)
        merging = self._live()[table.name].merge_insert(table.key)
        merging.when_matched_update_all().when_not_matched_insert_all()
        merging.execute(rows, on_bad_vectors="null")
        self._note(table.name, len(rows))

    def commit(self, position: int, *, files: bool = True) -> None:
        """Record the tables' state as of a position; `files` false while some are being removed."""
        self.flush()
        self._effect("lancedb:position")
        self.position = position
        tables = {
            name: {
                "version": table.version,
                "rows": table.count_rows(),
                "files": sizes(self.folder / f"{name}.lance") if files else {},
            }
            for name, table in self._live().items()
        }
        state = {
            "layout": LAYOUT,
            "position": position,
            "dimension": self._dimension,
            "models": self._models.as_dict(),
            "tables": tables,
        }
        replace_json(self.folder / STATE, state)

    def index(self) -> bool:
        """Create scalar indexes if many rows have none; if it returns True, `commit` next."""
        self.flush()
        done = [self._index(name) for name in self._live()]
        return any(done)

    def tidy(self) -> bool:
        """Index and compact what needs it, and remove versions that nobody reads."""
        indexed = self.index()
        crowded = [name for name in self._live() if self._is_crowded(name)]
        if indexed:
            self.commit(self.position)
        if not crowded:
            return indexed
        for name in crowded:
            self._effect(f"lancedb:{name}:tidy")
            self._tables[name].optimize(cleanup_older_than=timedelta(days=3650))
        self.commit(self.position, files=False)
        for name in crowded:
            self._tables[name].optimize(cleanup_older_than=GRACE)
            self._hold(name, self._tables[name])
        self.commit(self.position)
        return True

    def _is_crowded(self, name: str) -> bool:
        fragments = self._fragments[name]
        if fragments < FRAGMENTED:
            return False
        rows: int = self._tables[name].count_rows()
        return fragments >= VERY_FRAGMENTED or self._new_rows[name] * 4 >= rows

    def _index(self, name: str) -> bool:
        """Create a table's indexes, or renew them if a quarter of its rows is newer.

        Returns whether it did so. Compacting would also index the rows, but rewrites the table.
        """
        from lancedb.index import Bitmap, BTree

        table = self._tables[name]
        rows = table.count_rows()
        key = next(t.key for t in LANCE_TABLES if t.name == name)
        if rows < INDEXED_FROM:
            return False
        known = table.index_stats(f"{key}_idx")
        if known is not None and known.num_unindexed_rows * 4 < rows:
            return False
        self._effect(f"lancedb:{name}:index")
        table.create_index(key, config=BTree())
        table.create_index("owner_id", config=Bitmap())
        return True

    def close(self) -> None:
        """Release the tables; uncommitted rows are dropped."""
        self._added.clear()
        self._tables.clear()
        self._recorded = None


def _pages(table: Table) -> Iterator[pa.RecordBatch]:
    """All rows in pages: from a single stream LanceDB reads hundreds of megabytes ahead."""
    for start in range(0, table.count_rows(), PAGE_ROWS):
        yield from table.search().offset(start).limit(PAGE_ROWS).to_arrow().to_batches()
