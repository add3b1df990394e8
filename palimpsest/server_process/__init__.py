"""The server's process: connects all doors to one store and runs them."""
