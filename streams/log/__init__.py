"""The SQLite log: events in order, dead letters, and questions to the judge.

It is a store's source of truth, and a worker's copy of its partition's decisions. It decides
nothing.
"""
