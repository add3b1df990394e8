"""The read side: LanceDB and DuckDB, made from the log alone (design section 8)."""
