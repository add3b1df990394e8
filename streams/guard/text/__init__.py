"""What the guard extracts from one text."""
