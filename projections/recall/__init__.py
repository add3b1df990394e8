"""Recall: memories by meaning and by words, filtered and ranked."""
