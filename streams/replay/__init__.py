"""An owner's recorded history told again, to see what rested on what (docs/design.md, Un-merge)."""
