"""The maximum sizes of answers, by the door that a call comes through."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """The maximum number of memories found by a search, and of memories or pairs on a page."""

    found: int
    listed: int


MOST = 2**63 - 1
"""The largest number that SQLite and DuckDB accept."""

LONGEST_REASON = 2_000
"""The maximum number of characters of a reason (`because`) that comes through a server."""

PYTHON = Limits(found=100_000, listed=1_000)
COMMAND_LINE = Limits(found=1_000, listed=1_000)
NETWORK = Limits(found=100, listed=200)
