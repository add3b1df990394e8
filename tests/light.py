"""What makes a test process cheaper: conftest.py and the forges of processes begin with it."""

from __future__ import annotations

from functools import cache

import duckdb
import typer.main

from palimpsest.collector import rest_collector
from palimpsest.imports import leave_out_catalogues
from palimpsest.projections import analysts

comment_on_columns = vars(analysts)["_comment_on_columns"]
"""The real one, for the test that reads the comments."""


def lighten() -> None:
    """Have Python be set as the command line sets it, and the tree of commands be built once.

    Columns have no comments: for each new store they cost as much as the views themselves.

    Before anything imports LanceDB or typer's test client.
    """
    rest_collector()
    leave_out_catalogues()
    vars(typer.main)["get_command"] = cache(typer.main.get_command)
    vars(analysts)["_comment_on_columns"] = _say_nothing


def _say_nothing(_: duckdb.DuckDBPyConnection) -> None: ...
