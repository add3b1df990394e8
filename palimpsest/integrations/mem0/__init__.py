"""mem0's API for this store (docs/mem0.md)."""
