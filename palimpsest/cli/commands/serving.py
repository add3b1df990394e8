"""A store's server, `serve`, and its client for programs that start a process, `mcp`."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from getpass import getuser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from palimpsest.cli import rendering
from palimpsest.cli.invocation import Invocation, invocation
from palimpsest.contracts.errors import PalimpsestError, UsageError
from palimpsest.contracts.extras import missing_extra
from palimpsest.process.signals import stop_event
from palimpsest.streams.home_path import expand_home

if TYPE_CHECKING:
    from palimpsest.server.endpoint import Endpoint
    from palimpsest.settings.serve import ServeSettings

app = typer.Typer()
Client = Literal["claude", "cursor", "vscode"]
"""Clients whose configuration can be printed."""
CONFIGURED_IN: dict[Client, str] = {
    "claude": "claude_desktop_config.json (Settings, Developer), or .mcp.json for Claude Code",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a folder",
}

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
        typer.Option(metavar="SECONDS", min=1, help="Exit after this time without a request."),
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


def _check_owner(owner: str | None) -> str | None:
    """Check the owner, before a server is started."""
    if owner is None:
        return None
    from pydantic import TypeAdapter, ValidationError

    from palimpsest.contracts.candidate import Name
    from palimpsest.contracts.model import first_rule

    try:
        return TypeAdapter(Name).validate_python(owner)
    except ValidationError as error:
        raise typer.BadParameter(first_rule(error)) from None


@app.command(epilog="Example: palimpsest --store memories mcp --owner ada")
def mcp(
    context: typer.Context,
    config: Annotated[
        Literal["config"] | None,
        typer.Argument(help="Print a client's configuration instead.", show_default=False),
    ] = None,
    client: Annotated[
        Client | None, typer.Argument(help="The client to configure.", show_default=False)
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER",
            help="The owner of the memories; in a configuration, by default your user name.",
            callback=_check_owner,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of a server elsewhere, instead of the store's own."),
    ] = None,
) -> None:
    """Speak MCP on standard input and output, for one owner, and forward it to the store's server.

    Starts the server if none runs; a file in the store's folder has its address. If the
    server was given tokens, set PALIMPSEST_TOKEN to the one to use. `mcp config CLIENT` prints
    what to put into the client's configuration.
    """
    call = invocation(context)
    if config is not None:
        if client is None:
            raise typer.BadParameter(f"name a client: {', '.join(get_args(Client))}")
        typer.echo(json.dumps(_configuration(call, client, owner or getuser()), indent=2))
        call.output.remark(f"This belongs in {CONFIGURED_IN[client]}.")
        return
    if owner is None:
        raise typer.BadParameter("name the owner of the memories: --owner ada")
    from palimpsest.client.errors import ClientError
    from palimpsest.client.shim import ServerAddress, speak
    from palimpsest.settings.settings import NO_JUDGE

    token = os.environ.get("PALIMPSEST_TOKEN")
    if url is not None:
        if not token:
            raise UsageError("set PALIMPSEST_TOKEN to a token of that server")
        try:
            address = ServerAddress(url)
        except ClientError as error:
            raise UsageError(f"--url: {error}") from None
        speak(owner, lambda: address, token)
        return
    require_serve()
    if call.settings.judge_of_server is None and call.settings.kafka is None:
        call.output.remark(NO_JUDGE)
    speak(owner, server_of(call), token, PalimpsestError)


def _configuration(call: Invocation, client: Client, owner: str) -> dict[str, Any]:
    """A client's configuration, with absolute paths: clients start programs anywhere."""
    store = str(call.settings.store.absolute())
    words = ["-m", "palimpsest", "--store", store, *_given(call), "mcp", "--owner", owner]
    server = {"command": sys.executable, "args": words}
    if client == "vscode":
        return {"servers": {"memory": {"type": "stdio", **server}}}
    return {"mcpServers": {"memory": server}}


def _given(call: Invocation) -> list[str]:
    """The given options that name a cluster and a model; a model's folder by its whole path."""
    model = call.model
    if model and (folder := expand_home(model)).is_dir():
        model = str(folder.absolute())
    given = {"--bootstrap": call.bootstrap, "--prefix": call.prefix, "--model": model}
    return [word for name, value in given.items() if value for word in (name, value)]


def server_of(call: Invocation) -> Callable[[], Endpoint]:
    """A function that finds the store's server, or starts it."""
    from palimpsest.server.starting import find_or_start

    return partial(find_or_start, call.settings.store.absolute(), _given(call))


def require_serve() -> None:
    """UsageError if the extra `serve` is not installed."""
    if not all(map(find_spec, ("jinja2", "mcp", "starlette", "uvicorn"))):
        raise missing_extra("a server", "serve")


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
        await run(
            opened,
            only,
            settings,
            stop_event(),
            idle=idle,
            judge=call.settings.judge_of_server,
            on_ready=report_endpoint,
        )
