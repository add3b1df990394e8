"""`verifier`: the process that asks the judge, of a store or of a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palimpsest.commands import drawing
from palimpsest.commands.invocation import Invocation, invocation
from palimpsest.commands.reaching import reach, topics_at_last
from palimpsest.interrupts import told_to_end

if TYPE_CHECKING:
    from palimpsest.desk import FrontDesk
    from palimpsest.streams.judge.batching import Batcher
    from palimpsest.streams.judge.worker import Questions, Tally

app = typer.Typer()

VERIFIER_FOLDER = Path(".palimpsest-verifier")
PATIENCE_SECONDS = 3600.0
NICENESS = 19
"""The least there is: it takes what processors others leave, a seventieth where they leave none."""


@dataclass(frozen=True)
class _Wanted:
    """How a verifier was started."""

    once: bool
    patience: float
    data: Path
    from_store: bool


@app.command(epilog="Example: palimpsest --store memories verifier --once")
def verifier(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="End when nothing waits any more.")] = False,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="How long an outage lasts before the policy's fallback.",
        ),
    ] = PATIENCE_SECONDS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For verdicts and budget; else the store, or .palimpsest-verifier.",
        ),
    ] = None,
    from_store: Annotated[
        bool,
        typer.Option("--from-store", help="Of a cluster: what waits in the store that follows it."),
    ] = False,
) -> None:
    """Ask the judge about what is pending, many questions at once, and bring its verdicts.

    Runs beside whoever is writing, until SIGTERM or Ctrl-C, and ends
    with 0 then. While the judge's service is away it waits and goes on.
    """
    call = invocation(context)
    in_topics = call.settings.kafka is not None and not from_store
    settings = call.settings.over(data=data)
    folder = settings.data or (VERIFIER_FOLDER if in_topics else settings.store)
    wanted = _Wanted(once, patience, folder, from_store)
    from palimpsest.logs import log_to_standard_error

    log_to_standard_error(logging.WARNING if once else logging.INFO)
    give_way()
    tally, waiting = asyncio.run(_verified(call, wanted, in_topics=in_topics))
    document = _document(tally, waiting)
    call.output.answer(document, lambda: drawing.fields(_drawn(document)))


def give_way() -> None:
    """Have the system prefer others: the stream does not wait for the judge, nor for a processor.

    What is asked takes seconds at the service; a few milliseconds more here are not noticed.
    """
    if sys.platform != "win32":
        os.nice(max(0, NICENESS - os.nice(0)))


def _document(tally: Tally, waiting: int | None) -> dict[str, Any]:
    return {
        "questions": tally.questions,
        "answers": dict(tally.answers),
        "outcomes": dict(tally.outcomes),
        "known": tally.known,
        "calls": round(tally.calls, 2),
        "usd": round(tally.usd, 6),
        "waiting": waiting,
    }


def _drawn(document: dict[str, Any]) -> dict[str, Any]:
    """Counts by kind as one line each."""
    return {
        name: ", ".join(f"{count} {kind}" for kind, count in value.items()) or "none"
        if isinstance(value, dict)
        else value
        for name, value in document.items()
        if value is not None
    }


async def _verified(
    call: Invocation, wanted: _Wanted, *, in_topics: bool
) -> tuple[Tally, int | None]:
    """Run until told to end; what was done, and how many wait in the store, if there is one."""
    from palimpsest.streams.judge.batching import Batcher, BatchSettings
    from palimpsest.streams.judge.judge import Judge
    from palimpsest.streams.judge.verifier import Verifier
    from palimpsest.streams.judge.worker import JudgeWorker

    wanted.data.mkdir(parents=True, exist_ok=True)
    settings = call.settings.judge
    async with AsyncExitStack() as stack:
        questions = await (_of_topics if in_topics else _of_store)(call, stack)
        judge = await stack.enter_async_context(
            Judge.beside(wanted.data, _no_rules(), settings, lambda: datetime.now(UTC))
        )
        batcher = Batcher(BatchSettings(concurrency=settings.concurrency, patience=wanted.patience))
        stack.push_async_callback(batcher.close)
        with call.output.progress() as report:
            worker = JudgeWorker(
                questions, Verifier(cache(judge.by), batcher), _told(report, batcher)
            )
            tally = await worker.run(told_to_end(), once=wanted.once)
        return tally, await _waiting(questions)


def _no_rules() -> Any:
    """Those of no policy: each question brings its own."""
    from palimpsest.contracts.policy import Judge

    return Judge()


def _told(report: Callable[[str, float | None], None], batcher: Batcher) -> Callable[[Tally], None]:
    def told(tally: Tally) -> None:
        away = ", the service does not answer" if batcher.outage else ""
        done = f"{tally.questions:,} questions, {tally.calls:,.0f} calls, ${tally.usd:.4f}"
        report(f"{done}{away}", None)

    return told


async def _of_store(call: Invocation, stack: AsyncExitStack) -> Questions:
    from palimpsest.store_questions import StoreQuestions

    def opened() -> FrontDesk:
        """The desk of the store, on the thread that will use it."""
        from palimpsest.store import Palimpsest

        settings = call.settings
        store = Palimpsest.open(
            settings.store, create=False, cluster=settings.kafka, **settings.opening()
        )
        return store.desk

    return await stack.enter_async_context(StoreQuestions(opened))


async def _of_topics(call: Invocation, stack: AsyncExitStack) -> Questions:
    connection = reach(call)
    from palimpsest.streams.cluster.questions import TopicQuestions

    topics = await topics_at_last(connection)
    return await stack.enter_async_context(TopicQuestions(connection, topics))


async def _waiting(questions: Questions) -> int | None:
    from palimpsest.store_questions import StoreQuestions

    return await questions.waiting() if isinstance(questions, StoreQuestions) else None
