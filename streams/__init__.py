"""The write side: the pure core, the guard, search, the embedder, and the runtimes."""

if __name__ == "streams":  # imported in a clone by the name of its folder
    from contextlib import suppress

    with suppress(ModuleNotFoundError):  # by a program that has an `infra` of its own
        import infra.folders  # noqa: F401
