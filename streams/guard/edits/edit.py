"""The type of an edit: a change to a text that its context licenses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.streams.guard.data.en_edits import Pairs
from palimpsest.streams.guard.reading import Reading

Match = Callable[[Reading, int, Reading, int], tuple[int, int] | None]
"""The numbers of tokens of both texts that an edit at two places explains; None if it does not fit.

It is tried both ways round, so that a change and its inverse are one edit.
"""

FIGURES = "#"
"""In `begins`, stands for every number and every token that is compared as written."""

ADDED = "@"
"""In `begins`, stands for the words that edits of a user's added languages begin with."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A row of the table. Whatever no row explains is a difference, whichever word it is."""

    name: str
    changes: str
    """What differs between the two texts."""
    context: str
    """The context that it requires."""
    passes: Pairs
    """Pairs that it makes near-identical."""
    fails: Pairs
    """Pairs that look like it but are not near-identical by it."""
    match: Match
    begins: frozenset[str] = frozenset()
    """It begins with one of these words in either text; empty for any word."""
    any_language: bool = False
    """Whether it applies to texts that are not English."""
    in_code: bool = False
    """Whether it applies to texts with code, or beside a token that is compared as written."""
