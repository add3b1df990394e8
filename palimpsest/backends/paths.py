"""The names of the files in a store's folder (docs/design.md, Two runtimes)."""

LOG_FILE = "log.sqlite"
PROJECTIONS_FOLDER = "projections"
PROJECTIONS = ("lancedb", "duckdb")
