"""The requests of an owner's agent, for a person: `update`, `undo`, `redo` and `forget`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType

from palimpsest.cli import rendering
from palimpsest.cli.invocation import Because, DryRun, Invocation, invocation
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.api.arguments import Attribution
    from palimpsest.api.store import Palimpsest
    from palimpsest.contracts.requests import Request
    from palimpsest.queries.undoing import Way

app = typer.Typer()
A_PLAN = "a --plan is a file with the output of `palimpsest find … --json`"


@app.command(
    epilog="Example: palimpsest update 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"
    " 'She works at Apple' --dry-run"
)
def update(
    context: typer.Context,
    memory: Annotated[
        str, typer.Argument(metavar="MEMORY", help="The id of the memory, or of a member.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new text.")],
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="Refuse unless this is its version, or its speaking candidate."
        ),
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="If the text lives in another memory, merge the two."),
    ] = False,
    dry_run: DryRun = False,
    because: Because = None,
) -> None:
    """Change a memory's text; the old text is kept, and `undo` brings it back."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    with call.store() as store:
        answer = store.update(
            full_id(store.reader, memory, "candidate"),
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
        return rendering.changed("it has this text already", {"memories": answer["memories"]})
    verb = "would be updated" if dry_run else "updated"
    notes = [rendering.shown(f"displaced: {answer['displaced']['text']}")]
    if answer["merged"] is not None:
        with_it = f"with memory {answer['merged']}, which has this text"
        notes.append(rendering.shown(f"{'would be ' * dry_run}merged {with_it}", "yellow"))
    notes.append(rendering.shown(f"version: {answer['version']}"))
    return Group(rendering.changed(verb, answer), *notes)


Done = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Of a decision, an event, a request (`cause`, `forgotten`) or a memory.",
    ),
]


@app.command(epilog="Example: palimpsest undo 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run")
def undo(
    context: typer.Context,
    which: Done,
    dry_run: DryRun = False,
    because: Because = None,
) -> None:
    """Undo what an id names: a join, an update, a forgetting, a statement or a whole request."""
    _take(invocation(context), "undo", which, dry_run=dry_run, because=because)


@app.command(epilog="Example: palimpsest redo 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run")
def redo(
    context: typer.Context,
    which: Done,
    dry_run: DryRun = False,
    because: Because = None,
) -> None:
    """Do again what was undone, named by the id that was undone."""
    _take(invocation(context), "redo", which, dry_run=dry_run, because=because)


def _take(call: Invocation, way: Way, which: str, *, dry_run: bool, because: str | None) -> None:
    from palimpsest.queries.ids import full_id
    from palimpsest.queries.undoing import request_for

    with call.store() as store:
        some_id = full_id(store.reader, which, "candidate", "decision")
        how: Attribution = {"actor": call.settings.actor, "because": because}
        request = request_for(store.reader, way, some_id, by="person", **how)
        command = _command(request, store.reader.clock())
        act = store.undo if way == "undo" else store.redo
        answer = act(some_id, dry_run=dry_run, **how)
    call.output.answer(answer, lambda: _taken(answer, way, command, dry_run=dry_run))


def _command(request: Request[Any], now: datetime) -> str | None:
    """The precise command that makes the same request; None if only `undo` or `redo` can."""
    fields = request.model_dump(exclude_none=True)
    chosen = fields.get("selection", {})
    options = "".join(f" --{name.removesuffix('_id')} {value}" for name, value in chosen.items())
    match request.request:
        case "unmerge":
            return f"unmerge --decision {fields['decision_id']} --with-consequences"
        case "separate" | "withdraw":
            return f"{request.request} {fields['a']} {fields['b']}"
        case "restore" if "forgotten" in fields:
            return f"restore --forgotten {fields['forgotten']}"
        case "retract" if "again" in fields:
            return None  # `forget` takes whole memories
        case "restore" | "retract":
            return f"{request.request}{options}"
        case "set_expiry":
            until = fields.get("expires_at")
            if until is not None and until <= now:
                return None  # nothing else keeps a memory until a time that has passed
            return f"pin {fields['candidate_id']}{f' --until {until.isoformat()}' if until else ''}"
        case "reinstate_many":
            return f"reinstate{options}"
        case _:
            return f"{request.request} {fields.get('decision_id') or fields['candidate_id']}"


def _taken(answer: Any, way: Way, command: str | None, *, dry_run: bool) -> RenderableType:
    verb = "undone" if way == "undo" else "done again"
    if dry_run:
        verb = f"would be {verb}"
    if "decision_id" in answer and "reinstated" in answer:
        shown = rendering.reinstated(answer, dry_run=dry_run)
    else:
        shown = rendering.changed(verb, {"memories": [], **answer})
    notes = [
        rendering.shown(f"former, not current: memory {memory_id} was displaced since", "yellow")
        for memory_id in answer.get("former", ())
    ]
    if "retracted" in answer and "again" in answer:
        forgotten = f"its text {'would be' if dry_run else 'is'} forgotten again"
        notes.append(rendering.shown(f"{forgotten}, and not in the review queue", "yellow"))
    if command is not None:
        notes.append(rendering.shown(f"the same as: palimpsest {command}", "dim"))
    return Group(shown, *notes)


@app.command(epilog="Example: palimpsest forget 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 --dry-run")
def forget(
    context: typer.Context,
    which: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Memories of one owner, or their members."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A plan: the output of `find --json`."),
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="OWNER", help="With --query: the memories' owner.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="WORDS", help="All memories that mention these words.")
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="With ids: refuse unless this is their version, or their token."
        ),
    ] = None,
    again: Annotated[
        str,
        typer.Option(metavar="ask|allow|refuse", help="What happens if the text arrives again."),
    ] = "ask",
    dry_run: DryRun = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask; required with --query and no terminal.")
    ] = False,
    because: Because = None,
) -> None:
    """Forget memories with all their wordings; `undo` brings them back."""
    if [bool(which), plan is not None, query is not None].count(True) != 1:
        raise typer.BadParameter("name ids, a --plan, or --owner with a --query: one of them")
    if (query is None) is not (owner is None):
        raise typer.BadParameter("--owner and --query go together")
    if expect is not None and not which:
        raise typer.BadParameter("--expect goes with ids: a plan and a query have a token")
    if again not in ("ask", "allow", "refuse"):
        raise typer.BadParameter("--again must be ask, allow or refuse")
    call = invocation(context)
    with call.store() as store:
        what = _meant(store, which or [], plan, owner, query)
        if query is not None and not what["hits"]:
            forgotten: dict[str, Any] = {"forgotten": None, "candidates": [], "again": again}
            nothing = {"token": what["token"], "waits": [], "memories": [], "events": []}
            call.output.answer(forgotten | nothing, Group)
            call.output.problem("no memory mentions these words: see `palimpsest find`")
            raise typer.Exit(FAILED)
        how: dict[str, Any] = {"again": again, "actor": call.settings.actor, "because": because}
        if query is not None and not (dry_run or yes):
            _confirm(call, what)
        answer = store.forget(what, expect=expect, dry_run=dry_run, **how)
    call.output.answer(answer, lambda: _forgotten(answer, dry_run=dry_run))


def _meant(
    store: Palimpsest, which: list[str], plan: Path | None, owner: str | None, query: str | None
) -> Any:
    from palimpsest.queries.ids import full_id

    if plan is not None:
        try:
            found = json.loads(plan.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{plan} cannot be read ({error.strerror}): {A_PLAN}") from None
        except ValueError:
            raise UsageError(f"{plan} is not JSON: {A_PLAN}") from None
    elif query is not None and owner is not None:
        return dict(store.find(owner, query, by=("words",)))
    else:
        return [full_id(store.reader, typed, "candidate") for typed in which]
    if not isinstance(found, dict) or not {"hits", "token"} <= found.keys():
        raise UsageError(f"{plan} has no hits with a token: {A_PLAN}")
    if not found["hits"]:
        raise UsageError("the plan names no memory: nothing would be forgotten")
    return found


def _confirm(call: Invocation, plan: Any) -> None:
    faces = [hit["face"] for hit in plan["hits"]]
    if not call.output.asks:
        found = counted(len(faces), "memory")
        raise UsageError(f"{found}: --dry-run shows what would be forgotten, --yes does it")
    call.output.show(Group(*(rendering.shown(face) for face in faces)))
    typer.confirm(f"Forget {counted(len(faces), 'memory')}?", abort=True, err=True)


def _forgotten(answer: Any, *, dry_run: bool) -> RenderableType:
    count = counted(len(answer["candidates"]), "wording")
    notes = [
        rendering.shown(f"waits for the judge: {waiting['text']}") for waiting in answer["waits"]
    ]
    verb = f"{count} would be forgotten" if dry_run else f"{count} forgotten"
    return Group(rendering.changed(verb, answer), *notes)
