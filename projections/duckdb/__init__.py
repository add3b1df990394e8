"""DuckDB's side: segments in Parquet, the analysts' views over them, and queries of both."""
