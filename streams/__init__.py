"""The write side: the pure core, the guard, search, the embedder, and the runtimes."""

if __name__ == "streams":  # imported in a clone by the name of its folder
    import infra.folders  # noqa: F401
