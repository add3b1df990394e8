"""A store's server, `serve`, and its client for programs that start a process, `mcp`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.cli import rendering
from palimpsest.cli.invocation import Invocation, invocation
from palimpsest.contracts.errors import UsageError
from palimpsest.process.signals import stop_event

if TYPE_CHECKING:
    from palimpsest.server.endpoint import Endpoint
    from palimpsest.settings.serve import ServeSettings

app = typer.Typer()

SILENT = ("mcp", "sse_starlette")
"""Libraries whose log lines quote requests."""


@app.command(epilog="Example: palimpsest --store memories serve")
def serve(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address to listen on; defaults to 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=65535, help="Default 7077; 0: any free port."),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that clients may use in `Host`; repeatable."),
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tokens and permissions (docs/http.md).")
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=1, help="Exit after so long without a request."),
    ] = None,
) -> None:
    """Serve the store over HTTP (/v1) and MCP (/mcp/OWNER) to agents and people.

    Prints its address once it is ready; runs until SIGTERM or Ctrl-C, then exits with 0.
    The link that it prints admits one browser to the review page, within a minute; `review open`
    prints another. Without tokens it serves this machine only, and creates its own secrets.
    """
    import asyncio

    call = invocation(context)
    require_serve()
    from palimpsest.process.logs import log_to_standard_error

    log_to_standard_error()
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    options = {"host": host, "port": port, "allowed_hosts": allowed_host, "tokens_file": tokens}
    update = {name: value for name, value in options.items() if value is not None}
    asyncio.run(_serve(call, call.settings.serve.model_copy(update=update), idle))


def _named(owner: str) -> str:
    """Check the owner, before a server is started."""
    from pydantic import TypeAdapter, ValidationError

    from palimpsest.contracts.candidate import Name

    try:
        return TypeAdapter(Name).validate_python(owner)
    except ValidationError as error:
        [wrong] = error.errors()
        raise typer.BadParameter(wrong["msg"].removeprefix("Value error, ")) from None


@app.command(epilog="Example: palimpsest --store memories mcp --owner ada")
def mcp(
    context: typer.Context,
    owner: Annotated[
        str,
        typer.Option(metavar="OWNER", help="The owner of the memories.", callback=_named),
    ],
) -> None:
    """Speak MCP on standard input and output, for one owner, and forward it to the store's server.

    Starts the server if none runs; a file in the store's folder has its address. If the
    server was given tokens, set PALIMPSEST_TOKEN to the one to use.
    """
    call = invocation(context)
    require_serve()
    from palimpsest.server.mcp.shim import speak

    speak(owner, server_of(call), os.environ.get("PALIMPSEST_TOKEN"))


def server_of(call: Invocation) -> Callable[[], Endpoint]:
    """A function that finds the store's server, or starts it."""
    from palimpsest.server.starting import find_or_start

    folder = call.settings.store.absolute()
    given = {"--bootstrap": call.bootstrap, "--prefix": call.prefix}
    options = [word for name, value in given.items() if value for word in (name, value)]
    return partial(find_or_start, folder, options)


def require_serve() -> None:
    """UsageError if the extra `serve` is not installed."""
    if not all(map(find_spec, ("jinja2", "mcp", "starlette", "uvicorn"))):
        raise UsageError("a server needs: pip install 'palimpsest-memory[serve]'")


async def _serve(call: Invocation, settings: ServeSettings, idle: float | None) -> None:
    from palimpsest.server.endpoint import OnlyServer

    def report_endpoint(endpoint: Endpoint, link: str) -> None:
        """Print the address as soon as the server accepts requests."""
        document = {
            "url": endpoint.url,
            "pid": endpoint.pid,
            "store": str(call.settings.store),
            "review": link,
        }
        call.output.answer(document, lambda: rendering.fields(document))
        sys.stdout.flush()

    with OnlyServer(call.settings.store) as only:
        from palimpsest.api.store import Palimpsest
        from palimpsest.server_process.run import serve as run

        opened = partial(
            Palimpsest.open,
            call.settings.store,
            cluster=call.settings.kafka,
            **call.settings.opening(),
        )
        await run(opened, only, settings, stop_event(), idle=idle, on_ready=report_endpoint)
