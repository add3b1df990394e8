"""What an edit is: a change to a text that its context licenses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.streams.guard.data.en_edits import Pairs
from palimpsest.streams.guard.reading import Reading

Match = Callable[[Reading, int, Reading, int], tuple[int, int] | None]
"""How many tokens of either text an edit explains that begins at two places; None if it does not.

It is tried both ways round, so a change and the change back are one edit.
"""

FIGURES = "#"
"""Stands for every number and every token that is compared as it is, where an edit begins."""

ADDED = "@"
"""Stands for the words with which edits of a language begin that a user added."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A row of the table. Whatever no row explains is a difference, whatever the word is."""

    name: str
    changes: str
    """What differs between the two texts."""
    context: str
    """What has to stand around it."""
    passes: Pairs
    """Pairs that it makes near-identical."""
    fails: Pairs
    """Pairs that look like it and say two things."""
    match: Match
    begins: frozenset[str] = frozenset()
    """Words one of which stands in either text where it begins; empty: anything may."""
    any_language: bool = False
    """Whether it needs no English."""
    in_code: bool = False
    """Whether it holds in texts with code, or beside a token that is compared as it is."""
