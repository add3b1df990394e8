"""The embedded runtime: one process decides, an SQLite file is the log (design section 7)."""
