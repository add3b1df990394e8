"""Read-only queries of a store."""
