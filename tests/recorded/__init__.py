"""Histories that were recorded once and are replayed for ever; a file's name says what it pins."""
