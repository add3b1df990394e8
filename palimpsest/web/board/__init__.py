"""The board for reviewing pairs."""
