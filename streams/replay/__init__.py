"""Replays of an owner's recorded history, to see what rested on what (docs/design.md, Un-merge)."""
