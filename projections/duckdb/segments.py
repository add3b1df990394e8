"""Parquet segments: one folder per commit, written atomically (docs/design.md).

`segments/<from>-<to>.<generation>/` has the changes of the events after position `from`, up to and
including `to`: a file for each table that has rows, and a manifest. The positions are in the name,
so rows and position are one commit. Compaction and rebuilding write a later generation of a range;
until the earlier one is removed, both have the same rows, and readers use each key once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import OWNERS_ONLY, checksum, remove, sync
from palimpsest.projections.base.source import Effect, no_effect
from palimpsest.projections.duckdb.tables import LAYOUT, TABLES

FOLDER = "segments"
BUILDING = "building"
MANIFEST = "manifest.json"
POSITION = "position"
GROUP_ROWS = 10_000
"""Rows of a table that are written as one row group."""
_NAME = re.compile(r"(\d{12,})-(\d{12,})\.(\d+)")


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A range of positions, `start` exclusive and `end` inclusive, and the folder of its files."""

    start: int
    end: int
    generation: int
    path: Path

    @classmethod
    def of(cls, path: Path) -> Segment | None:
        """The segment of a folder; None for any other folder."""
        found = _NAME.fullmatch(path.name)
        if found is None:
            return None
        start, end, generation = map(int, found.groups())
        return cls(start, end, generation, path)

    def file(self, table: str) -> Path:
        """The path of a table's rows, if it has any."""
        return self.path / f"{table}.parquet"

    def tables(self) -> list[str]:
        """The tables that it has a file of."""
        return [path.stem for path in self.path.iterdir() if path.suffix == ".parquet"]

    def rows(self) -> int:
        """The number of rows in its manifest; StoreError if that cannot be read."""
        return sum(entry["rows"] for entry in self.manifest()["files"].values())

    def manifest(self) -> dict[str, Any]:
        """What the segment should contain. StoreError if the manifest cannot be read."""
        try:
            manifest: dict[str, Any] = orjson.loads((self.path / MANIFEST).read_bytes())
        except (OSError, orjson.JSONDecodeError) as error:
            raise StoreError(f"segment {self.path.name} has no readable manifest") from error
        return manifest

    def damage(self, *, thorough: bool = False) -> str | None:
        """The first problem with its files (size, footer, and checksum if `thorough`), if any."""
        try:
            manifest = self.manifest()
        except StoreError as error:
            return str(error)
        if manifest.get("layout") != LAYOUT:
            return f"segment {self.path.name} has the layout of another version"
        return next(
            (
                f"{name} of segment {self.path.name} {wrong}"
                for name, entry in manifest["files"].items()
                if (wrong := _wrong(self.path / name, entry, thorough=thorough))
            ),
            None,
        )


def _wrong(path: Path, entry: Mapping[str, int], *, thorough: bool) -> str | None:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != entry["size"]:
        return "differs in size from what was written"
    if thorough and checksum(path) != entry["crc32"]:
        return "has other bytes than those written"
    try:
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return "has no readable footer"
    return None if rows == entry["rows"] else "has more or fewer rows than were written"


class SegmentWriter:
    """Writes one segment in the folder `beside` the others; `finish` moves it into place."""

    def __init__(self, folder: Path, start: int, effect: Effect = no_effect) -> None:
        self._folder = folder
        self._start = start
        self._effect = effect
        self.beside = folder / BUILDING / f"from-{start}"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: defaultdict[str, list[pa.Table]] = defaultdict(list)
        remove(self.beside)
        self.beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.beside.mkdir(mode=0o700)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._waiting.clear()
            self.close()

    def write(self, tables: Mapping[str, pa.Table]) -> None:
        """Add rows, as Arrow tables by name."""
        for name, rows in tables.items():
            self._waiting[name].append(rows)
            if sum(map(len, self._waiting[name])) >= GROUP_ROWS:
                self._flush(name)

    def _flush(self, name: str) -> None:
        waiting = self._waiting.pop(name)
        self._writer(name, waiting[0].schema).write_table(pa.concat_tables(waiting))

    def _writer(self, name: str, schema: pa.Schema) -> pq.ParquetWriter:
        if name not in self._writers:
            path = self.beside / f"{name}.parquet"
            self._writers[name] = pq.ParquetWriter(path, schema, compression="zstd")
        return self._writers[name]

    def close(self) -> None:
        """Write waiting rows and finish the files; does nothing the second time."""
        try:
            for name in [*self._waiting]:
                self._flush(name)
        finally:
            with ExitStack() as closing:
                for writer in self._writers.values():
                    closing.callback(_close, writer)
            self._writers.clear()

    def finish(self, end: int, generation: int = 0, *, complete: bool = False) -> Segment:
        """Move the segment into place; with `complete`, even tables without rows get a file."""
        if complete:
            for table in TABLES:
                self._writer(table.name, table.schema)
        position = pa.table({"from_position": [self._start], "position": [end]})
        self.write({POSITION: position})
        self.close()
        return self.place(end, generation)

    def place(self, end: int, generation: int) -> Segment:
        """Write the manifest of the files, and rename their folder into the segments."""
        files = {path.name: _described(path) for path in sorted(self.beside.glob("*.parquet"))}
        manifest = {"layout": LAYOUT, "from": self._start, "to": end, "files": files}
        (self.beside / MANIFEST).write_bytes(orjson.dumps(manifest))
        self._effect("segment:written")
        for path in self.beside.iterdir():
            path.chmod(OWNERS_ONLY)
            sync(path)
        sync(self.beside)
        name = f"{self._start:012d}-{end:012d}.{generation}"
        segments = self._folder / FOLDER
        segments.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._effect("segment:synced")
        path = self.beside.rename(segments / name)
        self._effect("segment:renamed")
        sync(segments)
        return Segment(self._start, end, generation, path)


def _close(writer: pq.ParquetWriter) -> None:
    try:
        writer.close()
    finally:
        writer.is_open = False  # else garbage collection tries again, on the same full disk


def _described(path: Path) -> dict[str, int]:
    rows = pq.read_metadata(path).num_rows
    return {"size": path.stat().st_size, "rows": rows, "crc32": checksum(path)}


def listed(folder: Path) -> list[Segment]:
    """Every segment folder, by range and generation, complete or not."""
    segments = folder / FOLDER
    paths = segments.iterdir() if segments.is_dir() else ()
    return sorted(found for path in paths if (found := Segment.of(path)) is not None)


def reached(folder: Path) -> int:
    """The highest position of any segment, as in the view `log_position`."""
    return max((segment.end for segment in listed(folder)), default=0)


def chain(segments: Sequence[Segment]) -> tuple[list[Segment], list[tuple[int, int]]]:
    """The smallest chain of consecutive segments from 0 on, and the ranges that none covers."""
    chosen: list[Segment] = []
    gaps: list[tuple[int, int]] = []
    covered = 0
    last = max((segment.end for segment in segments), default=0)
    while covered < last:
        starts = [s for s in segments if s.start == covered and s.end > covered]
        if starts:
            chosen.append(max(starts, key=lambda s: (s.end, s.generation)))
            covered = chosen[-1].end
            continue
        later = min((s.start for s in segments if s.start > covered), default=last)
        gaps.append((covered, later))
        covered = later
    return chosen, gaps


def next_generation(segments: Sequence[Segment], start: int, end: int) -> int:
    """A generation that no existing segment of this range has."""
    same = (s.generation for s in segments if (s.start, s.end) == (start, end))
    return max(same, default=-1) + 1
