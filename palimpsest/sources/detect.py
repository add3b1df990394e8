"""Detects the kind of store at a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.chroma import ChromaSource, is_chroma
from palimpsest.sources.contract import Source, SourcePlace
from palimpsest.sources.files import FileSource
from palimpsest.sources.lance import SUFFIX, LanceSource, tables_in
from palimpsest.sources.mem0 import HISTORY, HistorySource, Mem0Source, is_history
from palimpsest.sources.qdrant import QdrantSource, is_qdrant
from palimpsest.sources.read_only import is_sqlite
from palimpsest.sources.sqlite import SqliteSource


def open_source(place: SourcePlace) -> Source:
    """Open the source at a place. UsageError if there is none, or its kind is unknown."""
    path = place.path
    if not path.exists():
        raise UsageError(f"there is no {path}")
    if path.is_dir():
        return _folder(place)
    if not (place.table or place.query) and is_history(path):
        return HistorySource(path)
    source = SqliteSource(place) if is_sqlite(path) else FileSource(path)
    if isinstance(source, FileSource) and (place.table or place.query):
        raise UsageError(f"{path} is not a database: --table and --query do not apply")
    return source


def _folder(place: SourcePlace) -> Source:
    if place.query:
        raise UsageError(f"{place.path} is a folder: --query is for a SQLite file")
    if place.path.name.endswith(SUFFIX) or tables_in(place.path):
        return LanceSource(place)
    within = inside(place)
    if _has_vectors(within.path):
        source = QdrantSource(within) if is_qdrant(within.path) else ChromaSource(within)
        return Mem0Source(source, within.history) if within.history else source
    raise UsageError(
        f"{place.path} is a folder of an unknown kind: name a file, or the folder of a LanceDB,"
        " Qdrant or Chroma database, or mem0's folder"
    )


def inside(place: SourcePlace) -> SourcePlace:
    """The vectors and the history inside mem0's folder; any other place is returned unchanged."""
    history = place.path / HISTORY
    if not history.is_file() or _has_vectors(place.path):
        return place
    found = [path for path in place.path.iterdir() if _has_vectors(path)]
    if len(found) != 1:
        return place
    return replace(place, path=found[0], history=place.history or history)


def _has_vectors(path: Path) -> bool:
    return is_qdrant(path) or is_chroma(path)
