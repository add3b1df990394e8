"""One process serves a store: over HTTP (`/v1`) and MCP (`/mcp/{owner}`).

Needs the extra `serve`. A door is a module whose function `routes` returns its routes. All doors
are behind the `Gate`, which authenticates the caller, and reach the store through `Intents`, which
checks the owner.
"""
