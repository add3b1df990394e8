"""Tables on disk name their layout: whoever changes a column gives the layout another number."""

from __future__ import annotations

from palimpsest.contracts.identity import digest
from palimpsest.projections.duckdb import tables
from palimpsest.projections.duckdb.tables import TABLES
from palimpsest.projections.lancedb import store as lance
from palimpsest.projections.lancedb.tables import LANCE_TABLES

CHANGED = "the columns are not those of this layout: raise LAYOUT, and say here what they are now"


def test_columns_of_segments_are_those_of_their_layout() -> None:
    columns = [
        (one.name, one.key, one.buries, [(field.name, str(field.type)) for field in one.schema])
        for one in TABLES
    ]
    assert (tables.LAYOUT, digest(repr(columns).encode())[:16]) == (14, "6da47a5ede746798"), CHANGED


def test_columns_of_lancedb_are_those_of_their_layout() -> None:
    columns = [
        (one.name, one.key, [(field.name, str(field.type)) for field in one.schema(384)])
        for one in LANCE_TABLES  # windows came later: a store without them reads on
    ]
    assert (lance.LAYOUT, digest(repr(columns).encode())[:16]) == (5, "ed80e4df53ebbd77"), CHANGED
