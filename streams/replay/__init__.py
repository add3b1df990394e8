"""An owner's recorded history told again, to see what rested on what (design section 9)."""
