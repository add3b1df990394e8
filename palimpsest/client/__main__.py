"""`palimpsest-client mcp --url URL --owner OWNER`: MCP over standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .errors import ClientError
from .shim import ServerAddress, speak


def main(arguments: Sequence[str] | None = None) -> int:
    """Forward MCP messages to a server until the input ends."""
    parser = argparse.ArgumentParser(prog="palimpsest-client", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    mcp = commands.add_parser("mcp", help="speak MCP for one owner, and forward it to a server")
    mcp.add_argument("--url", required=True, help="the server, such as https://memories.example")
    mcp.add_argument("--owner", required=True, help="the owner of the memories")
    asked = parser.parse_args(arguments)
    token = os.environ.get("PALIMPSEST_TOKEN")
    if not token:
        parser.error("set PALIMPSEST_TOKEN to a token of the server")
    try:
        address = ServerAddress(asked.url)
    except ClientError as error:
        parser.error(str(error))
    speak(asked.owner, lambda: address, token)
    return 0


if __name__ == "__main__":
    sys.exit(main())
