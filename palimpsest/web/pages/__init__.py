"""The pages beside the board, a module each."""
