"""What is read of a store. Nothing here writes."""
