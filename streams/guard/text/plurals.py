"""Plurals of English."""

from __future__ import annotations


def may_be_plural(word: str) -> bool:
    """Whether a word ends like a regular plural: neither *bus* nor *glass*, *tennis* or *as*."""
    return word.endswith("s") and not word.endswith(("as", "is", "ss", "us"))


def singular(word: str) -> str:
    """A regular plural without its ending; any other word unchanged, or without a final *s*."""
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
