"""The write side: the pure core, the guard, search, the embedder, and the runtimes."""
