"""What every projection is made of: rows of committed events, and where they come from."""
