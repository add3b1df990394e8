"""The closed table of edits, and the alignment that tries them."""
