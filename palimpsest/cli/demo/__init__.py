"""A judge for demonstrations and tests: a local server with rules on words instead of a model."""
