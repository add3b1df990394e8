"""LanceDB: vectors for recall."""
