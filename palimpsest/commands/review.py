"""`review`: rejections seen by a stronger model, and what waits for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType

from palimpsest.commands import trees
from palimpsest.commands.drawing import fields, shown
from palimpsest.commands.invocation import Because, OneOwner, invocation

if TYPE_CHECKING:
    from palimpsest.store import Palimpsest

app = typer.Typer(
    no_args_is_help=True,
    help="Look again at what was decided: by a stronger model, or by a person.",
    epilog="Example: palimpsest review next",
)

Decision = Annotated[str, typer.Argument(metavar="DECISION", help="As `review next` shows it.")]
Existing = Annotated[
    str, typer.Argument(metavar="EXISTING", help="The pair's other candidate, as it shows it.")
]


@app.command(epilog="Example: palimpsest review run")
def run(context: typer.Context, owner: OneOwner = None) -> None:
    """Confirm exact repeats, and ask the stronger model about the other rejections.

    The exit status is 1 where it did not answer: those wait for the next run. What it gives no
    usable answer about, now or before, waits for a person.
    """
    call = invocation(context)
    with call.output.progress() as report, call.store() as store:
        call.require_owner(store, owner)
        answer = store.review(owner_id=owner, judge=call.settings.judge, progress=report)
    call.output.answer(answer, lambda: _reviewed(answer))
    if answer["asked"].get("unavailable"):
        raise typer.Exit(1)


def _reviewed(answer: Mapping[str, Any]) -> RenderableType:
    return Group(
        shown(f"{answer['exact']:,} exact repeats and {answer['confirmed']:,} others confirmed"),
        shown(f"{len(answer['reversed']):,} reversed, {answer['left']:,} left unreviewed"),
        *(
            shown(f"  reversed: {one['decision']} {one['decision_id']}: {one['reasoning']}")
            for one in answer["reversed"]
        ),
        *(
            shown(f"  refused: {one['decision_id']}: {one['detail']} ({one['reason']})")
            for one in answer["refused"]
        ),
    )


@app.command("next", epilog="Example: palimpsest review next")
def next_question(
    context: typer.Context,
    owner: OneOwner = None,
    skip: Annotated[
        int, typer.Option(min=0, metavar="N", help="Leave out the first N: you cannot report.")
    ] = 0,
) -> None:
    """Show what waits for a person: first what is pending, then joins that nobody reviewed."""
    call = invocation(context)
    with call.store() as store:
        call.require_owner(store, owner)
        row = store.next_review(owner_id=owner, skip=skip)
    call.output.answer(row, lambda: fields(row) if row else shown("nothing waits", "dim"))
    if row is not None:
        pair = f"{row['decision_id']} {row['existing_id']}"
        call.output.remark(f"palimpsest review same|different {pair}")


@app.command(epilog="Example: palimpsest review same 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 A")
def same(
    context: typer.Context, decision: Decision, existing: Existing, because: Because = None
) -> None:
    """Say that the two texts are the same: a pending pair is merged, a join confirmed."""
    call = invocation(context)
    with call.store() as store:
        decision, existing = _pair(store, decision, existing)
        answer = store.review_same(decision, existing, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("the same", answer))


@app.command(epilog="Example: palimpsest review different 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 A")
def different(
    context: typer.Context, decision: Decision, existing: Existing, because: Because = None
) -> None:
    """Say that they are not: a pending pair is separated, a join taken out."""
    call = invocation(context)
    with call.store() as store:
        decision, existing = _pair(store, decision, existing)
        answer = store.review_different(
            decision, existing, actor=call.settings.actor, because=because
        )
    call.output.answer(answer, lambda: trees.changed("different", answer))


def _pair(store: Palimpsest, decision: str, existing: str) -> tuple[str, str]:
    """The pair's ids, whole."""
    from palimpsest.naming import full_id

    desk = store.desk
    return full_id(desk, decision, "decision"), full_id(desk, existing, "candidate")
