"""Memories and their histories as people read them. Pure."""
