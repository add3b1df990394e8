"""Removes the duplicates from a file or table of texts at once (docs/clean.md)."""
