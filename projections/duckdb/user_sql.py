"""Checks with DuckDB's parser that a user's SQL is one SELECT, and finds the views it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import orjson

from palimpsest.contracts.errors import UsageError

_QUERIES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""The parser's nodes that only read. A CTE may also be a COPY, an INSERT, an UPDATE or a DELETE."""
_CATALOG = ("duckdb_", "pragma_")
"""Prefixes of the functions that list a database's contents."""
_CATALOG_VIEWS = (*_CATALOG, "pg_", "sqlite_")
"""Prefixes of DuckDB's own views, which list them, too."""
_DATA = frozenset(
    {
        "generate_series",
        "glob",
        "json_each",
        "json_tree",
        "parquet_file_metadata",
        "parquet_kv_metadata",
        "parquet_metadata",
        "parquet_scan",
        "parquet_schema",
        "pg_timezone_names",
        "range",
        "read_blob",
        "read_csv",
        "read_json",
        "read_parquet",
        "read_text",
        "repeat",
        "unnest",
    }
)
"""Table functions that return data and read no views. Functions in neither list are refused: some
run SQL that is hidden in a text, read memory at an address, or change the connection."""


def views_read(database: duckdb.DuckDBPyConnection, text: str) -> frozenset[str] | None:
    """The names of the tables that a query reads; None if it may read any, such as the catalog.

    Raises UsageError unless the text is exactly one SELECT that only reads data.
    """
    tables: set[str] = set()
    catalog = False
    for node in _nodes(_parsed(database, text)):
        kind = node["type"]
        if kind == "BASE_TABLE":
            table = node["table_name"].lower()
            tables.add(table)
            catalog = catalog or bool(node["schema_name"]) or table.startswith(_CATALOG_VIEWS)
        elif kind == "SHOW_REF":
            catalog = True
        elif kind == "TABLE_FUNCTION":
            catalog = _lists_catalog(node["function"].get("function_name", "")) or catalog
        elif kind.endswith("_NODE") and kind not in _QUERIES:
            raise UsageError("only queries are allowed: the views are derived from the log")
    return None if catalog else frozenset(tables)


def _lists_catalog(function: str) -> bool:
    if function.startswith(_CATALOG):
        return True
    if function not in _DATA:
        raise UsageError(f"the table function {function!r} is not allowed in queries of a store")
    return False


def _parsed(database: duckdb.DuckDBPyConnection, text: str) -> Any:
    try:
        row = database.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchone()
        tree = orjson.loads(row[0]) if row else {}
    except (duckdb.Error, orjson.JSONDecodeError) as error:
        raise UsageError(f"the query cannot be parsed: {error}") from error
    if tree["error"]:
        if tree["error_type"] == "parser":
            raise UsageError(f"Parser Error: {tree['error_message']}")
        raise UsageError(
            "only queries are allowed, each a single SELECT: the views follow from the log alone"
        )
    if len(tree["statements"]) != 1:
        raise UsageError("there is no query" if not tree["statements"] else "one query at a time")
    return tree["statements"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every node with a type in a parsed statement. Not recursive, because queries nest deeply."""
    unread = [tree]
    while unread:
        part = unread.pop()
        if isinstance(part, dict):
            if isinstance(part.get("type"), str):
                yield part
            unread.extend(part.values())
        elif isinstance(part, list):
            unread.extend(part)
