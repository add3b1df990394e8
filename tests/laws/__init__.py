"""Laws L1 to L15 over generated histories, and what breaks them (docs/design.md, Laws)."""
