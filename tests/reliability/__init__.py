"""Nothing is lost and nothing is doubled, whatever happens to the processes and the disk."""
