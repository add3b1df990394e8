"""A person's statements: `merge`, `separate`, `withdraw`, `confirm`, `pin`, `renew`, `names`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from palimpsest.cli import rendering
from palimpsest.cli.invocation import Because, invocation, moment

app = typer.Typer()

Decision = Annotated[str, typer.Argument(metavar="DECISION", help="A decision's id.")]

A = Annotated[str, typer.Argument(metavar="A", help="A candidate, by its id or a decision's.")]

B = Annotated[str, typer.Argument(metavar="B", help="Another one.")]


@app.command(epilog="Example: palimpsest merge A B --face B --because 'the same flat'")
def merge(
    context: typer.Context,
    a: A,
    b: B,
    face: Annotated[
        str | None, typer.Option(metavar="A|B", help="The side that speaks; defaults to the older.")
    ] = None,
    because: Because = None,
) -> None:
    """Declare two candidates the same: their memories become one."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    sides = {"A": a, "B": b, a: a, b: b}
    if face is not None and face not in sides:
        raise typer.BadParameter("--face must be A or B, or the id of one of the two")
    with call.store() as store:
        actor = call.settings.actor
        ids = {typed: resolve_id(store.reader, typed).candidate_id for typed in (a, b)}
        speaking = None if face is None else ids[sides[face]]
        answer = store.merge(ids[a], ids[b], face=speaking, actor=actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("merged", answer))


@app.command(epilog="Example: palimpsest separate A B --because 'two different flats'")
def separate(context: typer.Context, a: A, b: B, because: Because = None) -> None:
    """Declare two candidates different: nothing automatic joins them any more."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        a, b = (resolve_id(store.reader, typed).candidate_id for typed in (a, b))
        answer = store.separate(a, b, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("separated", answer))


@app.command(epilog="Example: palimpsest withdraw A B --because 'it is one flat after all'")
def withdraw(context: typer.Context, a: A, b: B, because: Because = None) -> None:
    """Take back a merge or a separation of two candidates."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        a, b = (resolve_id(store.reader, typed).candidate_id for typed in (a, b))
        answer = store.withdraw(a, b, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("withdrawn", answer))


@app.command(epilog="Example: palimpsest confirm 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
def confirm(context: typer.Context, decision: Decision, because: Because = None) -> None:
    """Agree with a decision."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    with call.store() as store:
        decision = full_id(store.reader, decision, "decision")
        answer = store.confirm(decision, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("confirmed", answer))


@app.command(epilog="Example: palimpsest pin 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def pin(
    context: typer.Context,
    memory: Annotated[str, typer.Argument(metavar="ID", help="A memory's or a candidate's id.")],
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Until this time, instead of for ever."),
    ] = None,
    because: Because = None,
) -> None:
    """Keep a memory that expires, or has expired; `undo` with the answer's id takes it back."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        memory = resolve_id(store.reader, memory).candidate_id
        answer = store.pin(memory, until=until, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("pinned", answer))


@app.command(epilog="Example: palimpsest renew 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11 2099-01-01")
def renew(
    context: typer.Context,
    memory: Annotated[str, typer.Argument(metavar="ID", help="A memory's or a candidate's id.")],
    expires_at: Annotated[
        datetime, typer.Argument(parser=moment, metavar="TIME", help="The new time of expiry.")
    ],
    because: Because = None,
) -> None:
    """Move the time when a memory expires, with an agent's rank; `pin` keeps one for ever."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        memory = resolve_id(store.reader, memory).candidate_id
        answer = store.renew(memory, expires_at, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("renewed", answer))


@app.command(epilog='Example: palimpsest names ada Ada "the user" I')
def names(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="Whose names they are.")],
    called: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="All names from now on, two or more."),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove all names.")] = False,
    because: Because = None,
) -> None:
    """Show the names that texts call an owner by, or declare them."""
    if called and none:
        raise typer.BadParameter("give names or --none, not both")
    call = invocation(context)
    with call.store() as store:
        if called or none:
            actor = call.settings.actor
            answer = store.set_names(owner, called or [], actor=actor, because=because)
        else:
            call.warn_if_behind(store)
            answer = store.names(owner)
    call.output.answer(answer, lambda: rendering.fields(answer))
