"""Word lists of the guard, by language, and patterns of them: data only, no rule."""
