"""A risk-limiting audit of merges: how many automatic joins are wrong at most (docs/proof.md).

`bound` and `order` are pure statistics, `state` is what the log's events amount to.
"""
