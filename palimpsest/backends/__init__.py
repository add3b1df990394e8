"""Access to a store from its own process, another process or a cluster, and helper processes."""
