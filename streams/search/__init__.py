"""Exact search over the distinct candidates of one scope: cosine, Jaccard, full text."""

from palimpsest.streams.search.cosine.index import VectorIndex, pairs_above
from palimpsest.streams.search.cosine.peers import Peers
from palimpsest.streams.search.exact import SearchVector, cosine
from palimpsest.streams.search.full_text import FullTextIndex
from palimpsest.streams.search.hits import SearchHit
from palimpsest.streams.search.tokens import TokenIndex

__all__ = [
    "FullTextIndex",
    "Peers",
    "SearchHit",
    "SearchVector",
    "TokenIndex",
    "VectorIndex",
    "cosine",
    "pairs_above",
]
