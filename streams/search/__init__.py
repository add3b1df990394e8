"""Exact search over the distinct candidates of one scope: cosine and Jaccard."""

from streams.search.exact import cosine
from streams.search.hits import Hit
from streams.search.peers import peers
from streams.search.tokens import TokenIndex
from streams.search.vectors import VectorIndex

__all__ = ["Hit", "TokenIndex", "VectorIndex", "cosine", "peers"]
