"""Memories and their histories in the form that people read. Pure."""
