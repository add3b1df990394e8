"""`demo-judge`: the service's API on this machine, answered by rules, where no key is."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Annotated

import typer
from rich.text import Text

from palimpsest.commands.invocation import invocation
from palimpsest.contracts.errors import UsageError

app = typer.Typer()

PORT = 8089


@app.command(epilog="Example: palimpsest demo-judge --delay 0.3")
def demo_judge(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="On the loopback; 0: any free one.")
    ] = PORT,
    delay: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="Before each answer.")
    ] = 0.0,
) -> None:
    """Answer as the judge's service would, by rules on words and without a model.

    Runs until SIGTERM or Ctrl-C, and ends with 0 then.
    """
    call = invocation(context)
    from palimpsest.demo_judge import JudgeServer

    server = JudgeServer(port, delay, keep=False)
    try:
        server.start()
    except OSError as error:
        raise UsageError(f"port {port} cannot be had ({error}): name another by --port") from None
    told = f"export ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY=demo"
    with suppress(KeyboardInterrupt):
        # Whoever reads the address may tell it to end before all of it is printed.
        call.output.answer({"url": server.url}, lambda: Text(told))
        threading.Event().wait()
    server.stop()
