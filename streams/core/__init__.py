"""The pure core: a ledger, decisions about it, and the fold that changes it (docs/design.md)."""
