"""Candidates out of a conversation, by a service's model (designs/replace-or-merge)."""
