"""Undoing: `unmerge`, `reverse`, `reinstate`, `retract`, `restore` (docs/unmerge.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from palimpsest.cli import rendering
from palimpsest.cli.invocation import (
    Because,
    DryRun,
    Invocation,
    complete_kinds,
    invocation,
    moment,
)
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.contracts.requests import JoinSelection, Selection
    from palimpsest.queries.ids import Kind


# -- unmerge -------------------------------------------------------------------------------------


app = typer.Typer()

Folded = Annotated[
    bool,
    typer.Option(
        "--folded",
        help="Exact repeats that differ in more than the case of a sentence's start.",
    ),
]


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
        str | None, typer.Option(metavar="C", help="Joins with earlier candidates.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="M", help="All of its joins except verbatim repeats.")
    ] = None,
    folded: Folded = False,
    dry_run: DryRun = False,
    with_consequences: Annotated[
        bool,
        typer.Option(
            "--with-consequences",
            help="Also change later decisions that rested on it.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask if there are several joins.")
    ] = False,
    because: Because = None,
) -> None:
    """Take a join out and show the resulting memories. Name a decision, a candidate or a memory.

    With --folded: every exact repeat that differs in case or white space, of all owners.
    """
    given: dict[Kind | None, str | None] = {
        "decision": decision,
        "candidate": candidate,
        "memory": memory,
        None: which,
    }
    named = [(kind, typed) for kind, typed in given.items() if typed is not None]
    if folded:
        if named or with_consequences:
            raise typer.BadParameter("--folded takes no ID and no --with-consequences")
        call = invocation(context)
        _plan_and_apply(
            call, "reversed", {"folded": True}, dry_run=dry_run, yes=yes, because=because
        )
        return
    if len(named) != 1:
        raise typer.BadParameter("name an ID, or one of --decision, --candidate and --memory")
    [(kind, typed)] = named
    how = {"dry_run": dry_run, "with_consequences": with_consequences, "because": because}
    unmerge_one(invocation(context), typed, kind, yes=yes, **how)


def unmerge_one(
    call: Invocation, typed: str, kind: Kind | None = None, *, yes: bool = False, **how: Any
) -> None:
    """Un-merge what an id names, of this kind or of any; print the resulting memories."""
    from palimpsest.queries.ids import full_id, resolve_id

    with call.store() as store:
        if kind is None:
            kind, named_id, _ = resolve_id(store.reader, typed)
            if kind == "memory" and not (yes or how["dry_run"]):
                _confirm_memory(call, store, named_id)
        else:
            named_id = full_id(store.reader, typed, kind)
        answer = store.unmerge(
            decision_id=named_id if kind == "decision" else None,
            candidate_id=named_id if kind == "candidate" else None,
            memory_id=named_id if kind == "memory" else None,
            actor=call.settings.actor,
            **how,
        )
    verb = "would be reversed" if how["dry_run"] else "reversed"
    call.output.answer(answer, lambda: rendering.changed(verb, answer))


def _confirm_memory(call: Invocation, store: Palimpsest, memory_id: str) -> None:
    """Ask before removing all joins of a memory: its id is also the id of one candidate."""
    from palimpsest.queries.ids import count_members

    count = count_members(store.reader, memory_id)
    if count == 2:  # both meanings are the same single join
        return
    what = f"{memory_id} names a memory of {count:,} candidates"
    if not call.output.asks:
        raise UsageError(f"{what}: --yes removes all of its joins, --candidate only one")
    typer.confirm(f"{what}. Remove all of its joins?", abort=True, err=True)


# -- the options of a selection ------------------------------------------------------------------


OF_CANDIDATES = {
    "owner": Annotated[str | None, typer.Option(metavar="OWNER", help="Of this owner.")],
    "source": Annotated[
        str | None, typer.Option(metavar="S", help="Of candidates from this source.")
    ],
    "since": Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Decided at this time or later."),
    ],
    "until": Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Decided before this time."),
    ],
    "decision": Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="With this kind of decision.", autocompletion=complete_kinds
        ),
    ],
    "candidate": Annotated[str | None, typer.Option(metavar="C", help="Only this candidate.")],
}
OF_JOINS = {
    **OF_CANDIDATES,
    "policy": Annotated[str | None, typer.Option(metavar="HASH", help="Joined under this policy.")],
    "below": Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SCORE", help="With a lower similarity.")
    ],
    "folded": Folded,
}
OF_CAUSE = {
    "cause": Annotated[
        str | None,
        typer.Option(
            metavar="R", help="Reversed or retracted by this request, whose id was printed."
        ),
    ],
}
FIELDS = {"owner": "owner_id", "candidate": "candidate_id"}
"""Fields of a selection whose option has another name."""

Given = Mapping[str, Any]
"""The options of a selection that were given, by field."""


def selecting(options: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options instead of its parameter `given`, which gets their values."""
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=options[name])
        for name in options
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**arguments: Any) -> None:
            values = {FIELDS.get(name, name): arguments.pop(name) for name in options}
            given = {field: value for field, value in values.items() if value is not None}
            command(**arguments, given=given)

        declared = signature(command, eval_str=True).parameters.values()
        listed = [added if parameter.name == "given" else [parameter] for parameter in declared]
        vars(run)["__signature__"] = Signature([*chain.from_iterable(listed)])
        return run

    return decorate


# -- many at once: reverse, reinstate, retract, restore ------------------------------------------


Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask; required for several without a terminal.")
]

NOT_BOTH = "give an id or options, not both"
Act = Callable[..., Mapping[str, Any]]
Done = Literal["reversed", "reinstated", "retracted", "restored"]
"""What was done to everything of a selection."""


@app.command(epilog="Example: palimpsest reverse --source chat --since 2026-03-01 --dry-run")
@selecting(OF_JOINS)
def reverse(
    context: typer.Context,
    which: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Of a decision, a candidate or a memory; else options."),
    ] = None,
    *,
    given: Given,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Un-merge all joins that match the options, except verbatim repeats; or what an id names."""
    call = invocation(context)
    if which is None:
        _plan_and_apply(call, "reversed", given, dry_run=dry_run, yes=yes, because=because)
    elif given:
        raise typer.BadParameter(NOT_BOTH)
    else:
        unmerge_one(call, which, dry_run=dry_run, yes=yes, because=because)


@app.command(epilog="Example: palimpsest reinstate 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
@selecting(OF_JOINS | OF_CAUSE)
def reinstate(
    context: typer.Context,
    decision_id: Annotated[
        str | None, typer.Argument(metavar="DECISION", help="Of the reversed join; else options.")
    ] = None,
    *,
    given: Given,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Take a reversal back, so that its join stands again; with options, all that match."""
    from palimpsest.queries.ids import full_id

    call = invocation(context)
    if decision_id is None:
        _plan_and_apply(call, "reinstated", given, dry_run=dry_run, yes=yes, because=because)
        return
    if given:
        raise typer.BadParameter(NOT_BOTH)
    with call.store() as store:
        actor = call.settings.actor
        decision_id = full_id(store.reader, decision_id, "decision")
        answer = store.reinstate(decision_id, dry_run=dry_run, actor=actor, because=because)
    call.output.answer(answer, lambda: rendering.reinstated(answer, dry_run=dry_run))


@app.command(epilog="Example: palimpsest retract --source broken-bot --since 2026-03-01 --dry-run")
@selecting(OF_CANDIDATES)
def retract(
    context: typer.Context,
    *,
    given: Given,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Hide candidates from recall and search; joins are kept, and `restore` undoes it."""
    call = invocation(context)
    _plan_and_apply(call, "retracted", given, dry_run=dry_run, yes=yes, because=because)


@app.command(epilog="Example: palimpsest restore --source broken-bot --since 2026-03-01")
@selecting(OF_CANDIDATES | OF_CAUSE)
def restore(
    context: typer.Context,
    forgotten: Annotated[
        str | None,
        typer.Option(metavar="F", help="Everything that the `forget` with this id hid."),
    ] = None,
    *,
    given: Given,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Bring retracted candidates back, or everything that a single `forget` hid."""
    call = invocation(context)
    if forgotten is None:
        _plan_and_apply(call, "restored", given, dry_run=dry_run, yes=yes, because=because)
        return
    if given:
        raise typer.BadParameter("--forgotten goes with no other selection")
    with call.store() as store:
        actor = call.settings.actor
        answer = store.restore(forgotten=forgotten, dry_run=dry_run, actor=actor, because=because)
    verb = "would be restored" if dry_run else "restored"
    call.output.answer(answer, lambda: rendering.changed(verb, answer))


def _selection(done: Done, given: Given) -> JoinSelection | Selection:
    from pydantic import ValidationError

    from palimpsest.contracts.model import rule_of
    from palimpsest.contracts.requests import JoinSelection, Selection

    if not given:
        raise typer.BadParameter(
            "give at least one option: without any, everything would be selected"
        )
    try:
        kind = JoinSelection if done in ("reversed", "reinstated") else Selection
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, first["loc"])).replace("_id", "")
        raise typer.BadParameter(f"--{name}: {rule_of(first)}") from None


def _plan_and_apply(
    call: Invocation, done: Done, given: Given, *, dry_run: bool, yes: bool, because: str | None
) -> None:
    """Show the plan, ask, and apply it; exit status 1 if the selection is empty."""
    from palimpsest.queries.ids import full_id

    selection = _selection(done, given)
    with call.store() as store:
        acts: dict[Done, Act] = {
            "reversed": store.reverse,
            "reinstated": store.reinstate_many,
            "retracted": store.retract,
            "restored": store.restore,
        }
        if selection.candidate_id is not None:
            whole = full_id(store.reader, selection.candidate_id, "candidate")
            selection = selection.model_copy(update={"candidate_id": whole})
        apply = partial(acts[done], selection, actor=call.settings.actor, because=because)
        if not (dry_run or yes):
            _confirm(call, done, apply(dry_run=True))
        answer = apply(dry_run=dry_run)
    verb = f"would be {done}" if dry_run else done
    call.output.answer(answer, lambda: rendering.bulk(verb, done, answer))
    if not rendering.selected(done, answer):
        call.output.problem("nothing matches: see `palimpsest decisions`")
        raise typer.Exit(FAILED)


def _confirm(call: Invocation, done: str, plan: Mapping[str, Any]) -> None:
    """Ask a person, unless there is nothing to do; without a terminal, several need `--yes`."""
    count = rendering.selected(done, plan)
    if count and call.output.asks:
        call.output.show(rendering.bulk(f"would be {done}", done, plan))
        typer.confirm("Do it?", abort=True, err=True)
    elif count > 1:
        would = rendering.bulk_count(f"would be {done}", done, plan)
        raise UsageError(f"{would}: --dry-run shows them, --yes does it")
