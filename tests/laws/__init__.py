"""Laws L1 to L16 over generated histories, and what breaks them (docs/design.md, Laws)."""
