"""Laws L1 to L15 of the design (section 9) over generated histories, and what breaks them."""
