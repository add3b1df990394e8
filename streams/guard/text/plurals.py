"""Plurals of English."""

from __future__ import annotations


def singular(word: str) -> str:
    """A regular plural without its ending; another word as it is, or without its *s*."""
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
