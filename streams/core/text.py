"""Normalisation: what counts as the same text."""

from __future__ import annotations

import hashlib
import unicodedata

NORMALISER = "nfkc-casefold-space/1"
"""Version of the rules below; it is recorded beside every hash."""


def normalise(text: str) -> str:
    """NFKC, case folded, runs of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_hash(text: str) -> str:
    """SHA-256 of the normalised text, in hex."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()
