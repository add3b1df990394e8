"""The read side: projections into LanceDB and DuckDB, from the log alone (docs/design.md)."""

if __name__ == "projections":  # imported in a clone by the name of its folder
    import infra.folders  # noqa: F401
