"""Concerns of a process rather than a store: signals, logs, output, files to write, arguments."""
