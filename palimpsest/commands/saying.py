"""What a person says of two candidates or of a decision (design section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palimpsest.commands import trees
from palimpsest.commands.invocation import Because, DryRun, Invocation, invocation
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.naming import Kind
    from palimpsest.store import Palimpsest

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
    from palimpsest.naming import full_id

    call = invocation(context)
    speaker = _speaker(face, a, b)
    with call.store() as store:
        actor = call.settings.actor
        ids = {one: full_id(store.desk, one, "candidate") for one in (a, b)}
        face = None if speaker is None else ids[speaker]
        answer = store.merge(ids[a], ids[b], face=face, actor=actor, because=because)
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
    from palimpsest.naming import full_id

    call = invocation(context)
    with call.store() as store:
        a, b = (full_id(store.desk, one, "candidate") for one in (a, b))
        answer = store.separate(a, b, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("separated", answer))


@app.command(epilog="Example: palimpsest withdraw A B --because 'it is one flat after all'")
def withdraw(context: typer.Context, a: A, b: B, because: Because = None) -> None:
    """Take back that two candidates are not the same: they can be joined again."""
    from palimpsest.naming import full_id

    call = invocation(context)
    with call.store() as store:
        a, b = (full_id(store.desk, one, "candidate") for one in (a, b))
        answer = store.withdraw(a, b, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("withdrawn", answer))


@app.command(epilog="Example: palimpsest confirm 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
def confirm(context: typer.Context, decision: Decision, because: Because = None) -> None:
    """Agree with a decision."""
    from palimpsest.naming import full_id

    call = invocation(context)
    with call.store() as store:
        decision = full_id(store.desk, decision, "decision")
        answer = store.confirm(decision, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: trees.changed("confirmed", answer))


@app.command(epilog="Example: palimpsest unmerge 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run")
def unmerge(
    context: typer.Context,
    which: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Of a decision, a candidate or a memory; else options."),
    ] = None,
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
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask, nor refuse, where ID is a memory of many.")
    ] = False,
    because: Because = None,
) -> None:
    """Take a join out; show the memories that there are then. Name exactly one thing."""
    given: dict[Kind | None, str | None] = {
        "decision": decision,
        "candidate": candidate,
        "memory": memory,
        None: which,
    }
    said = [(kind, one) for kind, one in given.items() if one is not None]
    if len(said) != 1:
        raise typer.BadParameter("name an ID, or one of --decision, --candidate and --memory")
    [(kind, typed)] = said
    how = {"dry_run": dry_run, "with_consequences": with_consequences, "because": because}
    take_out(invocation(context), typed, kind, yes=yes, **how)


def take_out(
    call: Invocation, typed: str, kind: Kind | None = None, *, yes: bool = False, **how: Any
) -> None:
    """Un-merge what an id names, of this kind or of any; print what there is then."""
    from palimpsest.naming import full_id, named

    with call.store() as store:
        what = named(store.desk, typed)
        if kind is not None:
            found = full_id(store.desk, typed, "decision" if kind == "decision" else "candidate")
            what = what._replace(kind=kind, id=found)
        elif what.kind == "memory" and not (yes or how["dry_run"]):
            _ask_about(call, store, what.id)
        answer = store.unmerge(
            decision_id=what.id if what.kind == "decision" else None,
            candidate_id=what.id if what.kind == "candidate" else None,
            memory_id=what.id if what.kind == "memory" else None,
            actor=call.settings.actor,
            **how,
        )
    verb = "would be reversed" if how["dry_run"] else "reversed"
    call.output.answer(answer, lambda: trees.changed(verb, answer))


def _ask_about(call: Invocation, store: Palimpsest, memory_id: str) -> None:
    """A memory's id is a candidate's, too: who means that one shall not take all of it apart."""
    from palimpsest.naming import members

    count = members(store.desk, memory_id)
    if count == 2:  # one join, which is meant either way
        return
    what = f"{memory_id} names a memory of {count:,} candidates"
    if not call.output.asks:
        raise UsageError(f"{what}: --yes takes all of its joins out, --candidate means one")
    typer.confirm(f"{what}. Take all of its joins out?", abort=True, err=True)
