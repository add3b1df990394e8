"""What a path holds, from what lies there."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.chroma import ChromaSource, is_chroma
from palimpsest.sources.contract import Place, Source
from palimpsest.sources.files import FileSource
from palimpsest.sources.lance import SUFFIX, LanceSource, tables_in
from palimpsest.sources.mem0 import HISTORY, HistorySource, Mem0Source, is_history
from palimpsest.sources.qdrant import QdrantSource, is_qdrant
from palimpsest.sources.read_only import is_sqlite
from palimpsest.sources.sqlite import SqliteSource


def open_source(place: Place) -> Source:
    """The source at a place. UsageError where nothing is, or nothing that is known here."""
    path = place.path
    if not path.exists():
        raise UsageError(f"there is no {path}")
    if path.is_dir():
        return _folder(place)
    if not (place.table or place.query) and is_history(path):
        return HistorySource(path)
    source = SqliteSource(place) if is_sqlite(path) else FileSource(path)
    if isinstance(source, FileSource) and (place.table or place.query):
        raise UsageError(f"{path} is no database: --table and --query say nothing of it")
    return source


def _folder(place: Place) -> Source:
    if place.query:
        raise UsageError(f"{place.path} is a folder: --query is for a SQLite file")
    if place.path.name.endswith(SUFFIX) or tables_in(place.path):
        return LanceSource(place)
    if (source := _vectors(place)) is not None:
        return Mem0Source(source, place.history) if place.history else source
    if (place.path / HISTORY).is_file():
        inside = [one for one in place.path.iterdir() if is_qdrant(one) or is_chroma(one)]
        if len(inside) == 1:
            history = place.history or place.path / HISTORY
            return open_source(replace(place, path=inside[0], history=history))
    raise UsageError(
        f"{place.path} is a folder of nothing that is known here: name a file, or the folder of a"
        " LanceDB, Qdrant or Chroma database, or of mem0's"
    )


def _vectors(place: Place) -> Source | None:
    if is_qdrant(place.path):
        return QdrantSource(place)
    return ChromaSource(place) if is_chroma(place.path) else None
