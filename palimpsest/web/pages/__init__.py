"""All pages except the board, one module each."""
