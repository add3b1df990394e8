"""What a shell completes: presets, kinds of decisions, the views and their columns."""

from __future__ import annotations

import re
from typing import get_args

import typer

_LISTED = """
SELECT DISTINCT unnest([table_name, column_name]) AS name
FROM duckdb_columns() WHERE NOT internal ORDER BY 1
"""
_LAST_WORD = re.compile(r"\w*$")


def presets(incomplete: str) -> list[str]:
    """The presets' names."""
    from palimpsest.streams.policies import preset_names

    return _beginning(preset_names(), incomplete)


def kinds(incomplete: str) -> list[str]:
    """The kinds of decisions."""
    from palimpsest.contracts.events import Decision

    return _beginning(get_args(Decision), incomplete)


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """A query with its last word completed to a view or a column of the store's."""
    from palimpsest.paths import PROJECTIONS_FOLDER
    from palimpsest.projections.analysts import query, views_file
    from palimpsest.settings import read_settings

    folder = read_settings(store=_store(context)).store / PROJECTIONS_FOLDER
    if not views_file(folder).is_file():
        return []
    [word] = _LAST_WORD.findall(incomplete)[:1]
    before = incomplete.removesuffix(word)
    names = [row["name"] for row in query(folder, _LISTED)]
    return [before + name for name in _beginning(names, word)]


def _store(context: typer.Context) -> object:
    """The store that was named before the command."""
    return context.find_root().params.get("store")


def _beginning(names: object, incomplete: str) -> list[str]:
    assert isinstance(names, list | tuple)
    return [name for name in names if name.startswith(incomplete)]
