"""The language: candidates, requests, events, evidence, policy, wire format and schemas."""

if __name__ == "contracts":  # imported in a clone by the name of its folder
    import infra.folders  # noqa: F401
