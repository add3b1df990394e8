"""The read side: LanceDB and DuckDB, made from the log alone (docs/design.md, Projections)."""
