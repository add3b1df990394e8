"""Existing stores as rows: files, SQLite, LanceDB, Qdrant, Chroma and mem0 (docs/import.md)."""

from palimpsest.sources.contract import Fields, Item, Place, Source
from palimpsest.sources.detect import open_source
from palimpsest.sources.mapping import FieldMapping, MappedSource, guessed

__all__ = [
    "FieldMapping",
    "Fields",
    "Item",
    "MappedSource",
    "Place",
    "Source",
    "guessed",
    "open_source",
]
