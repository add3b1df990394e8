"""What an owner's agent wants, as a person types it: `update` and `undo` (docs/intent.md)."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from palimpsest.commands import rendering
from palimpsest.commands.invocation import Because, DryRun, invocation

app = typer.Typer()


@app.command(
    epilog="Example: palimpsest update 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"
    " 'She works at Apple' --dry-run"
)
def update(
    context: typer.Context,
    memory: Annotated[
        str, typer.Argument(metavar="MEMORY", help="The id of the memory, or of a member.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it says from now on.")],
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="Refuse unless this is its version, or the candidate that speaks."
        ),
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Where the text lives in another memory, make one of them."),
    ] = False,
    dry_run: DryRun = False,
    because: Because = None,
) -> None:
    """Change what a memory says; what it said is kept, and `undo` brings it back."""
    from palimpsest.naming import full_id

    call = invocation(context)
    with call.store() as store:
        answer = store.update(
            full_id(store.gateway, memory, "candidate"),
            text,
            expect=expect,
            merge=merge,
            dry_run=dry_run,
            actor=call.settings.actor,
            because=because,
        )
    call.output.answer(answer, lambda: _updated(answer, dry_run=dry_run))


def _updated(answer: Any, *, dry_run: bool) -> RenderableType:
    if not answer["changed"]:
        return rendering.changed("it says so already", {"memories": answer["memories"]})
    verb = "would be updated" if dry_run else "updated"
    notes = [rendering.shown(f"displaced: {answer['displaced']['text']}")]
    if answer["merged"] is not None:
        with_it = f"with memory {answer['merged']}, where the text lives"
        notes.append(rendering.shown(f"{'would be ' * dry_run}merged {with_it}", "yellow"))
    notes.append(rendering.shown(f"version: {answer['version']}"))
    return Group(rendering.changed(verb, answer), *notes)


@app.command(epilog="Example: palimpsest undo 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run")
def undo(
    context: typer.Context,
    which: Annotated[
        str,
        typer.Argument(metavar="ID", help="Of an update, or of a memory: then its last update."),
    ],
    dry_run: DryRun = False,
    because: Because = None,
) -> None:
    """Take an update back: its text leaves, what it displaced speaks again."""
    from palimpsest.naming import full_id

    call = invocation(context)
    with call.store() as store:
        answer = store.undo(
            full_id(store.gateway, which, "candidate", "decision"),
            dry_run=dry_run,
            actor=call.settings.actor,
            because=because,
        )
    call.output.answer(answer, lambda: _undone(answer, dry_run=dry_run))


def _undone(answer: Any, *, dry_run: bool) -> RenderableType:
    verb = "would be undone" if dry_run else "undone"
    notes = [
        rendering.shown(f"former, so not current: memory {one}, displaced since", "yellow")
        for one in answer["former"]
    ]
    return Group(rendering.changed(verb, answer), *notes)
