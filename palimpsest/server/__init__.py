"""One process serves a store: over HTTP (`/v1`) and MCP (`/mcp/{owner}`).

Needs the extra `serve`. A door is a module with a function that returns its routes (`routes`); all
of them are behind the `Gate`, which knows who calls, and ask the store through `Intents`, which
knows whose memories these are.
"""
