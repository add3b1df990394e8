"""The embedded runtime: one process decides, an SQLite file is the log (docs/design.md)."""
