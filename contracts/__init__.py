"""The language: candidates, requests, events, evidence, policy, wire format and schemas."""

if __name__ == "contracts":  # imported in a clone by the name of its folder
    from contextlib import suppress

    with suppress(ModuleNotFoundError):  # by a program that has an `infra` of its own
        import infra.folders  # noqa: F401
