"""Many at once: `reverse`, `reinstate`, `retract`, `restore`; shown first (design section 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from palimpsest.commands import completing, drawing, trees
from palimpsest.commands.invocation import Because, DryRun, Invocation, invocation, moment
from palimpsest.commands.saying import take_out
from palimpsest.commands.shell import FAILED
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.contracts.requests import JoinSelection, Selection
    from palimpsest.store import Palimpsest

app = typer.Typer()

Owner = Annotated[str | None, typer.Option(metavar="OWNER", help="Of this owner.")]
Source = Annotated[str | None, typer.Option(metavar="S", help="Of candidates from this source.")]
Since = Annotated[
    datetime | None, typer.Option(parser=moment, metavar="TIME", help="Decided then or later.")
]
Until = Annotated[
    datetime | None, typer.Option(parser=moment, metavar="TIME", help="Decided before then.")
]
Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Decided in this way.", autocompletion=completing.kinds),
]
Candidate = Annotated[str | None, typer.Option(metavar="C", help="This candidate alone.")]
Policy = Annotated[str | None, typer.Option(metavar="HASH", help="Joined under this policy.")]
Below = Annotated[
    float | None, typer.Option(min=0, max=1, metavar="SCORE", help="Of a lower similarity.")
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask; needed where no terminal is, for more than one.")
]

Act = Callable[..., dict[str, Any]]


@app.command(epilog="Example: palimpsest reverse --source chat --since 2026-03-01 --dry-run")
def reverse(
    context: typer.Context,
    which: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Of a decision, a candidate or a memory; else options."),
    ] = None,
    owner: Owner = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    decision: Kind = None,
    candidate: Candidate = None,
    policy: Policy = None,
    below: Below = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Un-merge every join that all of the options mean, exact repeats apart; or that of an id."""
    from palimpsest.contracts.requests import JoinSelection

    call = invocation(context)
    given = {
        "owner_id": owner,
        "source": source,
        "since": since,
        "until": until,
        "decision": decision,
        "candidate_id": candidate,
        "policy": policy,
        "below": below,
    }
    if which is not None:
        _require_nothing_else(given)
        take_out(call, which, dry_run=dry_run, yes=yes, because=because)
        return
    selection = _selection(JoinSelection, **given)

    def act(store: Palimpsest, **how: Any) -> dict[str, Any]:
        return store.reverse(_whole(store, selection), because=because, **how)

    _carry_out(call, act, "reversed", dry_run=dry_run, yes=yes)


@app.command(epilog="Example: palimpsest reinstate 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
def reinstate(
    context: typer.Context,
    decision_id: Annotated[
        str | None, typer.Argument(metavar="DECISION", help="The reversed join's; else options.")
    ] = None,
    owner: Owner = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    decision: Kind = None,
    candidate: Candidate = None,
    policy: Policy = None,
    below: Below = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Take a reversal back: the join stands again. Or those of all joins that the options mean."""
    from palimpsest.contracts.requests import JoinSelection

    call = invocation(context)
    given = {
        "owner_id": owner,
        "source": source,
        "since": since,
        "until": until,
        "decision": decision,
        "candidate_id": candidate,
        "policy": policy,
        "below": below,
    }
    if decision_id is not None:
        _require_nothing_else(given)
        _reinstate_one(call, decision_id, dry_run=dry_run, because=because)
        return
    selection = _selection(JoinSelection, **given)

    def act(store: Palimpsest, **how: Any) -> dict[str, Any]:
        return store.reinstate_many(_whole(store, selection), because=because, **how)

    _carry_out(call, act, "reinstated", dry_run=dry_run, yes=yes)


def _require_nothing_else(given: Mapping[str, object]) -> None:
    if any(value is not None for value in given.values()):
        raise typer.BadParameter("name an id, or say by options which; not both")


def _reinstate_one(
    call: Invocation, decision_id: str, *, dry_run: bool, because: str | None
) -> None:
    from palimpsest.naming import full_id

    with call.store() as store:
        actor = call.settings.actor
        decision_id = full_id(store.desk, decision_id, "decision")
        answer = store.reinstate(decision_id, dry_run=dry_run, actor=actor, because=because)
    call.output.answer(answer, lambda: trees.put_back(answer, dry_run=dry_run))


@app.command(epilog="Example: palimpsest retract --source broken-bot --since 2026-03-01 --dry-run")
def retract(
    context: typer.Context,
    owner: Owner = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    decision: Kind = None,
    candidate: Candidate = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Take candidates out of life and search, joins kept; `restore` brings them back."""
    from palimpsest.contracts.requests import Selection

    selection = _selection(
        Selection,
        owner_id=owner,
        source=source,
        since=since,
        until=until,
        decision=decision,
        candidate_id=candidate,
    )

    def act(store: Palimpsest, **how: Any) -> dict[str, Any]:
        return store.retract(_whole(store, selection), because=because, **how)

    _carry_out(invocation(context), act, "retracted", dry_run=dry_run, yes=yes)


@app.command(epilog="Example: palimpsest restore --source broken-bot --since 2026-03-01")
def restore(
    context: typer.Context,
    owner: Owner = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    decision: Kind = None,
    candidate: Candidate = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Bring retracted candidates back."""
    from palimpsest.contracts.requests import Selection

    selection = _selection(
        Selection,
        owner_id=owner,
        source=source,
        since=since,
        until=until,
        decision=decision,
        candidate_id=candidate,
    )

    def act(store: Palimpsest, **how: Any) -> dict[str, Any]:
        return store.restore(_whole(store, selection), because=because, **how)

    _carry_out(invocation(context), act, "restored", dry_run=dry_run, yes=yes)


Chosen = TypeVar("Chosen", "JoinSelection", "Selection")


def _selection(kind: type[Chosen], **given: Any) -> Chosen:
    from pydantic import ValidationError

    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        raise typer.BadParameter("say which: without any option it would mean everything")
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, first["loc"])).replace("_id", "")
        raise typer.BadParameter(
            f"--{name}: {first['msg'].removeprefix('Value error, ')}"
        ) from None


def _whole(store: Palimpsest, selection: Chosen) -> Chosen:
    """The selection with the candidate's id whole, where its beginning was typed."""
    from palimpsest.naming import full_id

    if selection.candidate_id is None:
        return selection
    whole = full_id(store.desk, selection.candidate_id, "candidate")
    return selection.model_copy(update={"candidate_id": whole})


def _carry_out(call: Invocation, act: Act, done: str, *, dry_run: bool, yes: bool) -> None:
    """Show what would be, ask, and do it; the exit status is 1 where nothing is meant."""
    actor = call.settings.actor
    with call.store() as store:
        plan = None if yes and not dry_run else act(store, dry_run=True, actor=actor)
        if plan is not None and not dry_run and drawing.meant(done, plan):
            _ask(call, done, plan)
        answer = plan if dry_run and plan else act(store, dry_run=False, actor=actor)
    verb = f"would be {done}" if dry_run else done
    call.output.answer(answer, lambda: drawing.bulk(verb, done, answer))
    if not drawing.meant(done, answer):
        call.output.problem("nothing matches: see `palimpsest decisions` for what there is")
        raise typer.Exit(FAILED)


def _ask(call: Invocation, done: str, plan: dict[str, Any]) -> None:
    if call.output.asks:
        call.output.show(drawing.bulk(f"would be {done}", done, plan))
        typer.confirm("Do it?", abort=True, err=True)
    elif drawing.meant(done, plan) > 1:
        would = drawing.counted(f"would be {done}", done, plan)
        raise UsageError(f"{would}: --dry-run shows them, --yes does it")
