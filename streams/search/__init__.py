"""Exact search over the distinct candidates of one scope: cosine and Jaccard."""

from palimpsest.streams.search.exact import cosine
from palimpsest.streams.search.hits import Hit
from palimpsest.streams.search.peers import peers
from palimpsest.streams.search.tokens import TokenIndex
from palimpsest.streams.search.vectors import VectorIndex

__all__ = ["Hit", "TokenIndex", "VectorIndex", "cosine", "peers"]
