"""What makes a test process cheaper: conftest.py and the forges of processes begin with it."""

from __future__ import annotations

from functools import cache

import typer.main

from palimpsest.collector import rest_collector
from palimpsest.imports import leave_out_catalogues


def lighten() -> None:
    """Have Python be set as the command line sets it, and the tree of commands be built once.

    Before anything imports LanceDB or typer's test client.
    """
    rest_collector()
    leave_out_catalogues()
    vars(typer.main)["get_command"] = cache(typer.main.get_command)
