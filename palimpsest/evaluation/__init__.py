"""How many merges are wrong: policies on labelled texts, and thresholds from a budget.

`rates` and `thresholds` are pure statistics (docs/proof.md).
"""
