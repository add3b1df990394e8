"""Plurals of English."""

from __future__ import annotations


def singular(word: str) -> str:
    """A regular plural without its ending; any other word unchanged, or without a final *s*."""
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
