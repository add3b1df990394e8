"""Word lists of the guard, by language: data only, no rule."""
