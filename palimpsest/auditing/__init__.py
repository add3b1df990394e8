"""A risk-limiting audit of merges: how many automatic joins are wrong at most (docs/proof.md).

`bound` and `order` are pure statistics; `state` is derived from the log's events.
"""
