"""Memories out of conversations."""
