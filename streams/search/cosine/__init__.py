"""Exact cosine search: rows of vectors, and three ways to scan them."""
