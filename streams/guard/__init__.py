"""The guard: a model-free comparison of two texts that stops false merges (design section 5)."""

from streams.guard.comparison import Comparison, compare
from streams.guard.reading import Reading, read
from streams.guard.words import tokens

__all__ = ["Comparison", "Reading", "compare", "read", "tokens"]
