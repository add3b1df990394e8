"""One process serves a store: over HTTP (`/v1`) and MCP (`/mcp/{owner}`).

Needs the extra `serve`. A door is a module whose function `routes` returns its routes. All of them
are behind the `Gate`, which identifies the caller, and reach the store through `Intents`, which
checks the owner.
"""
