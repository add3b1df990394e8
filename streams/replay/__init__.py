"""Replays a history without some joins, to find what depended on them (docs/design.md)."""
