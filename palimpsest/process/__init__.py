"""What belongs to a process rather than to a store: signals, logs, output, paths."""
