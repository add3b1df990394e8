"""Existing stores as rows: files, SQLite, LanceDB, Qdrant, Chroma and mem0 (docs/import.md)."""

from palimpsest.sources.contract import Fields, Item, Source, SourcePlace
from palimpsest.sources.detect import open_source
from palimpsest.sources.mapping import FieldMapping, MappedSource, guess_mapping

__all__ = [
    "FieldMapping",
    "Fields",
    "Item",
    "MappedSource",
    "Source",
    "SourcePlace",
    "guess_mapping",
    "open_source",
]
