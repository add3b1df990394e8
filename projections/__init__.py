"""The read side: projections into LanceDB and DuckDB, from the log alone (docs/design.md)."""
