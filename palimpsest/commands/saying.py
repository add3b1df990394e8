"""What a person says of two candidates or of a decision (design section 9)."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.commands import trees
from palimpsest.commands.invocation import Because, DryRun, invocation

app = typer.Typer()

Decision = Annotated[str, typer.Argument(metavar="DECISION", help="A decision's id.")]
A = Annotated[str, typer.Argument(metavar="A", help="A candidate's id.")]
B = Annotated[str, typer.Argument(metavar="B", help="Another candidate's id.")]


@app.command(epilog="Example: palimpsest merge A B --face B --because 'the same flat'")
def merge(
    context: typer.Context,
    a: A,
    b: B,
    face: Annotated[
        str | None, typer.Option(metavar="A|B", help="Whose side speaks; else the older one's.")
    ] = None,
    because: Because = None,
) -> None:
    """Say that two candidates are the same: their memories become one."""
    call = invocation(context)
    speaker = _speaker(face, a, b)
    with call.store() as store:
        actor = call.settings.actor
        answer = store.merge(a, b, face=speaker, actor=actor, because=because)
    call.output.answer(answer, lambda: trees.changed("merged", answer))


def _speaker(face: str | None, a: str, b: str) -> str | None:
    sides = {"A": a, "B": b, a: a, b: b}
    if face is None:
        return None
    if face not in sides:
        raise typer.BadParameter("--face must be A or B, or the id of one of the two")
    return sides[face]


@app.command(epilog="Example: palimpsest separate A B --because 'two different flats'")
def separate(context: typer.Context, a: A, b: B, because: Because = None) -> None:
    """Say that two candidates are not the same: nothing automatic joins them any more."""
    call = invocation(context)
    with call.store() as store:
        answer = store.separate(a, b, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("separated", answer))


@app.command(epilog="Example: palimpsest confirm 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
def confirm(context: typer.Context, decision: Decision, because: Because = None) -> None:
    """Agree with a decision."""
    call = invocation(context)
    with call.store() as store:
        answer = store.confirm(decision, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("confirmed", answer))


@app.command(
    epilog="Example: palimpsest unmerge --decision 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run"
)
def unmerge(
    context: typer.Context,
    decision: Annotated[
        str | None, typer.Option(metavar="D", help="The join of this decision.")
    ] = None,
    candidate: Annotated[
        str | None, typer.Option(metavar="C", help="The join that brought this candidate in.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="M", help="All of its joins but exact repeats.")
    ] = None,
    dry_run: DryRun = False,
    with_consequences: Annotated[
        bool,
        typer.Option(
            "--with-consequences",
            help="Make later decisions that rested on it as they would have been.",
        ),
    ] = False,
    because: Because = None,
) -> None:
    """Take a join out; show the memories that there are then. Name exactly one of the three."""
    call = invocation(context)
    if sum(target is not None for target in (decision, candidate, memory)) != 1:
        raise typer.BadParameter("name exactly one of --decision, --candidate and --memory")
    with call.store() as store:
        answer = store.unmerge(
            decision_id=decision,
            candidate_id=candidate,
            memory_id=memory,
            dry_run=dry_run,
            with_consequences=with_consequences,
            actor=call.settings.actor,
            because=because,
        )
    verb = "would be reversed" if dry_run else "reversed"
    call.output.answer(answer, lambda: trees.changed(verb, answer))
