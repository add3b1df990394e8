"""What all projections share: rows from committed events, and the log that they come from."""
