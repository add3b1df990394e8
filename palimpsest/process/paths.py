"""What a store's folder holds (docs/design.md, Two runtimes)."""

LOG_FILE = "log.sqlite"
PROJECTIONS_FOLDER = "projections"
PROJECTIONS = ("lancedb", "duckdb")
