"""The pages beside the board, one module each."""
