"""The board that people review pairs at."""
