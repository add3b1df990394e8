"""Clients of the topics outside a worker."""
