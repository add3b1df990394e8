"""The embedded runtime: one process decides, and a SQLite file is the log (docs/design.md)."""
