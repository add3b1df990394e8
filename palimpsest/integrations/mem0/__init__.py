"""mem0's API, of this store (docs/mem0.md)."""
