"""`session`: what an agent's host says of a conversation."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.commands import drawing
from palimpsest.commands.drawing import shown
from palimpsest.commands.invocation import invocation, moment

if TYPE_CHECKING:
    from palimpsest.store import Palimpsest

app = typer.Typer(
    no_args_is_help=True,
    help="Say that a session ended, or that its conversation was compacted.",
    epilog="Example: palimpsest session compacted ID",
)

Session = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]
Owner = Annotated[
    str | None,
    typer.Option(metavar="OWNER", help="Whose session; else the one owner who has spoken in it."),
]


@app.command("id", epilog="Example: palimpsest session id 2026-03-01T12:00:00Z")
def session_id(
    context: typer.Context,
    began: Annotated[
        datetime, typer.Argument(parser=moment, metavar="TIME", help="Of its first message.")
    ],
) -> None:
    """Print the id of a session that has none, from the time of its first message."""
    from palimpsest.contracts.identity import session_of

    found = session_of(began)
    invocation(context).output.answer({"session_id": found}, lambda: shown(found))


@app.command(epilog="Example: palimpsest session end ID")
def end(context: typer.Context, session: Session, owner: Owner = None) -> None:
    """Say that a session ended."""
    call = invocation(context)
    with call.store() as store:
        answer = store.end_session(owner or _owner_of(store, session), session)
    call.output.answer(answer, lambda: drawing.fields(answer))


@app.command(epilog="Example: palimpsest session compacted ID")
def compacted(context: typer.Context, session: Session, owner: Owner = None) -> None:
    """Say that a conversation was compacted: what it said before may be recalled in it again."""
    call = invocation(context)
    with call.store() as store:
        answer = store.compact_session(owner or _owner_of(store, session), session)
    call.output.answer(answer, lambda: drawing.fields(answer))


def _owner_of(store: Palimpsest, session: str) -> str:
    owners = store.owners_of_session(session)
    if len(owners) != 1:
        count = "nobody has" if not owners else f"{len(owners)} owners have"
        raise typer.BadParameter(f"{count} spoken in this session: name its owner with --owner")
    return owners[0]
