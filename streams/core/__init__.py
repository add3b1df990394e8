"""The pure core: a ledger, decisions on it, and the fold that changes it (docs/design.md)."""
