"""A judge for demonstrations and tests: a local server with rules on words in place of a model."""
