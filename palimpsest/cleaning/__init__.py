"""Cleaning a file or table of texts of its duplicates at once, without a store (docs/clean.md)."""
