"""The SQLite log: events in order, dead letters, and what waits for the judge.

A store's truth, and a worker's copy of its partition's decisions. Nothing here decides.
"""
