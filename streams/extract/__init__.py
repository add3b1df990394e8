"""Extracts candidates from a conversation with an LLM (docs/designs/replace-or-merge.md)."""
