"""`hook`: commands that agents call automatically. They never stop an agent."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import get_binary_stream
from typer.core import TyperCommand

from palimpsest.cli.invocation import Invocation, invocation
from palimpsest.contracts.errors import PalimpsestError

if TYPE_CHECKING:
    from palimpsest.integrations.hook import HookReport

app = typer.Typer(
    no_args_is_help=True,
    help="Hooks that agents call; they never stop the agent.",
    epilog="Example: palimpsest hook pre-compact --owner ada",
)

OWNER = "global"
TIMEOUT = 10.0
CAPTURING = "capturing"
"""The name of the thread that continues when the agent no longer waits."""


class _FailsOpen(TyperCommand):
    """Reports wrong options, but exits as if the store had failed: the agent continues."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the options like the base class, but without ending in an error."""
        try:
            return super().make_context(*args, **more)
        except typer.TyperException as error:
            from palimpsest.integrations.hook import FAILED, output

            typer.echo(f"error: palimpsest hook: {error}", err=True)
            typer.echo(output(FAILED))
            raise typer.Exit from None


@app.command(
    "pre-compact", cls=_FailsOpen, epilog="Example: palimpsest hook pre-compact --owner ada"
)
def pre_compact(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The input; default: standard input.")
    ] = "-",
    owner: Annotated[
        str,
        typer.Option(
            metavar="OWNER",
            envvar="PALIMPSEST_OWNER",
            help="The owner; else PALIMPSEST_OWNER, else global.",
        ),
    ] = OWNER,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=threading.TIMEOUT_MAX,
            metavar="S",
            help="The longest that the agent waits, in seconds.",
        ),
    ] = TIMEOUT,
) -> None:
    """Capture memories before an agent's context is compacted; report the duplicates.

    Either reads what the agent pipes (session_id, transcript_path), and extracts
    the memories of that transcript, or reads candidates: the lines of `extract`, or
    a JSON list of objects with content and namespace. Prints the hook's JSON. Whatever
    fails, the JSON is valid and the exit status is 0; standard error has the failure.
    """
    from palimpsest.integrations.hook import FAILED, LATE, output

    call, until = invocation(context), time.monotonic() + timeout
    failed = FAILED
    results: Queue[HookReport | str] = Queue()
    captures = threading.Thread(
        target=_capture, args=(call, owner, file, results), name=CAPTURING, daemon=True
    )
    captures.start()
    try:
        report = results.get(timeout=timeout)
    except Empty:
        failed = LATE
        report = (
            f"the store did not answer within {timeout:g} s; the candidates may be captured later"
        )
    problems = [report] if isinstance(report, str) else report.problems
    for problem in problems:
        call.output.problem(f"palimpsest hook: {problem}")
    typer.echo(output(failed if isinstance(report, str) else report.context))
    captures.join(max(0.0, until - time.monotonic()))
    if captures.is_alive():
        _leave()


def _capture(call: Invocation, owner: str, file: str, results: Queue[HookReport | str]) -> None:
    """Put a report, or the failure, into `results`; neither quotes a memory's text."""
    try:
        from palimpsest.api.store import Palimpsest
        from palimpsest.integrations.hook import pre_compact, read
        from palimpsest.jobs.extract import transcript_candidates

        raw = get_binary_stream("stdin").read() if file == "-" else Path(file).read_bytes()
        given, settings = read(raw), call.settings
        with Palimpsest.open(
            settings.store, create=False, cluster=settings.kafka, **settings.opening()
        ) as store:
            entries, problems = given.entries, list[str]()
            if given.transcript is not None:
                entries, problems = transcript_candidates(
                    given.transcript,
                    {"owner_id": owner, **given.about},
                    policy=store.policy,
                    settings=settings.judge,
                    folder=settings.store,
                )
            report = pre_compact(store.writer, owner, entries, datetime.now(UTC))
            report.problems += problems
            results.put(report)
    except OSError as error:
        results.put(f"{error.filename or file}: {error.strerror or error}")
    except PalimpsestError as error:
        results.put(str(error))
    except Exception as error:  # noqa: BLE001 - whatever fails, the agent continues
        results.put(f"a bug, or a broken installation: {type(error).__name__}")


def _leave() -> None:
    """End the process, even if one of its threads still waits for the store."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
