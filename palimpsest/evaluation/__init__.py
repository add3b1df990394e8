"""Tests policies on labelled texts, and chooses thresholds for an error budget.

`rates` and `thresholds` are pure statistics (docs/proof.md).
"""
