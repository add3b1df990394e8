"""What the guard reads of one text."""
