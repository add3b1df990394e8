"""MCP: the tools of an agent, over HTTP and over standard input."""
