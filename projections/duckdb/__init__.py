"""DuckDB: Parquet segments, the analysts' views over them, and queries of both."""
