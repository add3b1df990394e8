"""Extracts candidates from conversations, by an LLM or not (docs/designs/replace-or-merge.md)."""
