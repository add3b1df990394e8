"""A history decided again under another policy: `backtest` (docs/proof.md)."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Annotated

import typer

from palimpsest.cli.commands.proof.labelled import Page, drawn, require_page
from palimpsest.cli.invocation import complete_presets, invocation, moment
from palimpsest.process.targets import write_whole

app = typer.Typer()


@app.command(epilog="Example: palimpsest backtest layered --html layered.html")
def backtest(
    context: typer.Context,
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="A preset, or a .toml file.",
            autocompletion=complete_presets,
        ),
    ],
    owner: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Only owners that match this regular expression."),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=moment, metavar="TIME", help="Only what was decided at this time or later."
        ),
    ] = None,
    guard: Annotated[
        str,
        typer.Option(
            metavar="recorded|new", help="What the guard saw then, or what today's guard sees."
        ),
    ] = "recorded",
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, metavar="N", help="How many share the owners; default: one per core."
        ),
    ] = None,
    page: Page = None,
) -> None:
    """Decide the store's history again under another policy, and show what would be different.

    It uses what the log has: no model is called and nothing is written. Questions that only the
    other policy asks are counted, never guessed.
    """
    if guard not in ("recorded", "new"):
        raise typer.BadParameter("--guard must be recorded or new")
    call = invocation(context)
    require_page(page)
    from palimpsest.evaluation.tables import backtest_sentences, backtest_tables

    rules = call.settings.dedup.load(policy)
    with call.output.progress() as report, call.store() as store:
        answer = store.backtest(
            rules,
            owner=owner,
            since=since,
            compares_anew=guard == "new",
            processes=processes or min(os.cpu_count() or 1, 64),
            progress=report,
        )
    if page is not None:
        from palimpsest.cli.proof_page import backtest_page

        write_whole(page, backtest_page(answer))
    call.output.answer(answer, lambda: drawn(backtest_tables(answer), backtest_sentences(answer)))
