"""LanceDB's side: vectors for recall."""
