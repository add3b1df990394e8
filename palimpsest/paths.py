"""What a store's folder holds (design section 7)."""

LOG_FILE = "log.sqlite"
PROJECTIONS_FOLDER = "projections"
PROJECTIONS = ("lancedb", "duckdb")
