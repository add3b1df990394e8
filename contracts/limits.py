"""How much one call may ask for, by the door that it comes through."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """The most memories of an answer that is found, and of a page."""

    found: int
    listed: int


PYTHON = Limits(found=100_000, listed=1_000)
COMMAND_LINE = Limits(found=1_000, listed=1_000)
NETWORK = Limits(found=100, listed=200)
