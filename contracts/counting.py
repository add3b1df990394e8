"""Counted nouns in messages."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """A number and its noun, for messages: `1 memory`, `2,000 memories`."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"
