"""The SQLite log: events in order, dead letters, and questions to the judge.

It is the source of truth of a store, and a worker's copy of its partition's decisions. It makes no
decisions.
"""
