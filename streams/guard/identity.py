"""The identity of the guard, which a decision records."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from types import ModuleType

from palimpsest.streams.guard.data import closed_class, en, name_words
from palimpsest.streams.guard.data.tables import BUILT_IN, TABLES, Tables
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS

REVISION = 4
"""Raised with each change of a rule or the tokeniser that no example or word list shows."""
NAMES_REVISION = 13
"""The same for the rules of names."""


@cache
def guard_hash(tables: Tables = BUILT_IN, *, named: bool = False) -> str:
    """`sha256:` and 16 hex digits of the table of edits, the word lists and `REVISION`.

    The descriptions of edits are left out: rewording one changes no decision. Languages that a
    policy adds are included. For a `named` owner so are the lists for names and `NAMES_REVISION`;
    the names themselves are in the owner's events.
    """
    rows = [(e.name, e.passes, e.fails) for e in (*EDITS, MOVE)]
    own = [(code, _in_order(vars(table))) for code, table in TABLES.items()]
    said = repr((REVISION, rows, _lists(en), _lists(closed_class), own))
    if tables.added:
        said += repr([(table.code, _in_order(vars(table))) for table in tables.added])
    if named:
        said += repr((NAMES_REVISION, _lists(name_words)))
    return "sha256:" + hashlib.sha256(said.encode()).hexdigest()[:16]


def _lists(module: ModuleType) -> list[tuple[str, object]]:
    lists = {name: value for name, value in vars(module).items() if name.isupper()}
    return [(name, _in_order(value)) for name, value in sorted(lists.items())]


def _in_order(value: object) -> object:
    """A value whose repr is the same in every process, because sets have no order of their own."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, dict):
        return [(key, _in_order(each)) for key, each in value.items()]
    return value
