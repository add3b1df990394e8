"""Ways to a store: its own process, a server process, a cluster; and what runs beside them."""
