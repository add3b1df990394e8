"""Many at once: `reverse`, `retract`, `restore`; counted first (design section 9)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from palimpsest.commands import completing, drawing
from palimpsest.commands.invocation import Because, DryRun, Invocation, invocation, moment

if TYPE_CHECKING:
    from contracts.requests import JoinSelection, Selection
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
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask on a terminal.")]

Act = Callable[..., dict[str, Any]]


@app.command(epilog="Example: palimpsest reverse --source chat --since 2026-03-01 --dry-run")
def reverse(
    context: typer.Context,
    owner: Owner = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    decision: Kind = None,
    candidate: Candidate = None,
    policy: Annotated[
        str | None, typer.Option(metavar="HASH", help="Joined under this policy.")
    ] = None,
    below: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SCORE", help="Of a lower similarity.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    because: Because = None,
) -> None:
    """Un-merge every join that all of the options mean, exact repeats apart."""
    from contracts.requests import JoinSelection

    selection = _selection(
        JoinSelection,
        owner_id=owner,
        source=source,
        since=since,
        until=until,
        decision=decision,
        candidate_id=candidate,
        policy=policy,
        below=below,
    )

    def act(store: Palimpsest, **how: Any) -> dict[str, Any]:
        return store.reverse(selection, because=because, **how)

    _carry_out(invocation(context), act, "reversed", dry_run=dry_run, yes=yes)


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
    from contracts.requests import Selection

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
        return store.retract(selection, because=because, **how)

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
    from contracts.requests import Selection

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
        return store.restore(selection, because=because, **how)

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


def _carry_out(call: Invocation, act: Act, done: str, *, dry_run: bool, yes: bool) -> None:
    actor = call.settings.actor
    with call.store() as store:
        if call.output.asks and not (dry_run or yes):
            plan = act(store, dry_run=True, actor=actor)
            call.output.remark(drawing.counted(f"would be {done}", done, plan))
            typer.confirm("Do it?", abort=True, err=True)
        answer = act(store, dry_run=dry_run, actor=actor)
    verb = f"would be {done}" if dry_run else done
    call.output.answer(answer, lambda: drawing.bulk(verb, done, answer))
