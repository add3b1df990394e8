"""The guard: a model-free comparison of two texts that stops false merges (docs/design.md)."""

from palimpsest.streams.guard.comparison import Comparison, compare
from palimpsest.streams.guard.reading import Reading, read
from palimpsest.streams.guard.words import tokens

__all__ = ["Comparison", "Reading", "compare", "read", "tokens"]
