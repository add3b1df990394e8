"""Concerns of a process rather than a store: signals, logs, output, files that are written, paths."""
