"""Specifications of the pure core: hand-made histories, one for each subtle rule."""
