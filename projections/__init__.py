"""The read side: projections into LanceDB and DuckDB, from the log alone (docs/design.md)."""

if __name__ == "projections":  # imported in a clone by the name of its folder
    from contextlib import suppress

    with suppress(ModuleNotFoundError):  # by a program that has an `infra` of its own
        import infra.folders  # noqa: F401
