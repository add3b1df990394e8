"""`palimpsest schedule`: batch runs and reviews at the clock times of the settings."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palimpsest.cli.invocation import invocation
from palimpsest.cli.rendering import shown
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.process.signals import stopping_signals
from palimpsest.streams.ending import end_in_time

if TYPE_CHECKING:
    from palimpsest.cli.invocation import Invocation
    from palimpsest.settings.schedule import StepDone

app = typer.Typer()


@app.command(epilog="Example: palimpsest schedule --once")
def schedule(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Carry out what is due and not done yet, then exit.")
    ] = False,
) -> None:
    r"""Run the batch rules and the review at the clock times of the settings, `\[schedule]`.

    Runs beside a writing process until SIGTERM or Ctrl-C, then exits with 0. Missed times are
    caught up once. With --once, the exit status is 1 if a step failed.
    """
    call = invocation(context)
    from palimpsest.process.logs import log_to_standard_error
    from palimpsest.settings.schedule import STEPS

    log_to_standard_error(logging.WARNING if once else logging.INFO)
    if not any(call.settings.schedule.times(step) for step in STEPS):
        raise UsageError('nothing is scheduled: set [schedule] dedupe = "03:00" in palimpsest.toml')
    if not _check_until_stopped(call, once=once):
        raise typer.Exit(FAILED)


def _check_until_stopped(call: Invocation, *, once: bool) -> bool:
    """Check once and return whether it succeeded, or check until a signal and return True."""
    from palimpsest.settings.schedule import Scheduler

    def dedupe(due: datetime) -> Mapping[str, Any]:
        with call.store() as store:
            return store.dedupe(due=due, judge=call.settings.judge)

    def review(due: datetime) -> Mapping[str, Any]:
        with call.store() as store:
            return store.review(due=due, judge=call.settings.judge)

    def report(done: StepDone) -> None:
        call.output.answer(done, lambda: shown(describe_step(done)))

    scheduler = Scheduler(
        call.settings.schedule,
        {"review": review, "dedupe": dedupe},
        lambda: datetime.now(UTC),
        report,
    )
    if once:
        return scheduler.run_due()
    scheduler.run(_stop_event())
    return True


def describe_step(done: StepDone) -> str:
    """The outcome of a step, in one line; an earlier run's results are not counted again."""
    step, answer = done["step"], done["answer"]
    when = f"{step}, due at {done['due']}: "
    if answer is None:
        return f"{when}failed: {done['failed']}"
    if step == "review":
        return f"{when}{answer['exact'] + answer['confirmed']} confirmed"
    skipped = sum("skipped" in run for run in answer["runs"])
    before = {run["owner_id"] for run in answer["runs"] if "done_before" in run}
    owners = answer["owners"] - skipped - len(before)
    joined = sum(join["owner_id"] not in before for join in answer["joined"])
    again = f"; {len(before)} done before" if before else ""
    return f"{when}{counted(owners, 'owner')}, {joined} joined{again}"


def _stop_event() -> threading.Event:
    """An event that a signal sets; a step in progress then has a few seconds to finish."""
    stop = threading.Event()

    def end(_number: int, _frame: object) -> None:
        end_in_time(0)
        stop.set()

    for number in stopping_signals():
        signal.signal(number, end)
    return stop
