"""How results are printed: as tables, or as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rich.console import Console, RenderableType
from rich.table import Table


def print_wide(what: RenderableType, width: int = 160) -> None:
    """Print a table, with this width unless a terminal has its own."""
    Console(width=None if sys.stdout.isatty() else width).print(what)


def print_line(document: Mapping[str, Any]) -> None:
    """Print a JSON line at once."""
    sys.stdout.write(orjson.dumps(document).decode() + "\n")
    sys.stdout.flush()


def add_columns(table: Table, names: Iterable[str], numbers: Iterable[str]) -> None:
    """Add columns of names to a table, then columns of numbers, none of them wrapped."""
    for name in names:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
