"""`dedupe`: the policy's batch rules over the memories that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from palimpsest.commands.drawing import shown
from palimpsest.commands.invocation import OneOwner, invocation

app = typer.Typer()

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be joined; write no decision.")
]


@app.command(epilog="Example: palimpsest dedupe --dry-run")
def dedupe(context: typer.Context, owner: OneOwner = None, dry_run: DryRun = False) -> None:
    """Compare the memories that are there by the policy's batch rules, and join what is the same.

    The exit status is 1 where the judge did not answer: those pairs wait for the next run.
    """
    call = invocation(context)
    with call.output.progress() as report, call.store() as store:
        call.require_owner(store, owner)
        judge = call.settings.judge
        answer = store.dedupe(owner_id=owner, dry_run=dry_run, judge=judge, progress=report)
    call.output.answer(answer, lambda: _drawn(answer))
    if answer["asked"].get("unavailable"):
        left = answer["left"]
        call.output.remark(f"the judge did not answer about all; {left} wait for the next run")
        raise typer.Exit(1)


def _drawn(answer: Mapping[str, Any]) -> RenderableType:
    share = answer["pairs"] / answer["all_pairs"] if answer["all_pairs"] else 0.0
    verb = "would be joined" if answer["dry_run"] else "joined"
    asked = ", ".join(f"{count} {word}" for word, count in sorted(answer["asked"].items()))
    lines = [
        shown(f"memories: {answer['memories']:,} (owners: {answer['owners']:,})"),
        shown(f"pairs looked at: {answer['pairs']:,} of {answer['all_pairs']:,} ({share:.1%})"),
        shown(f"the judge said: {asked or 'nothing, for nobody asked'}"),
        *_paid(answer),
        shown(f"{verb}: {len(answer['joined']):,}", "bold"),
    ]
    for one in answer["joined"]:
        lines.append(shown(f"  {one['decision']}  {one['similarity']:.4f}  {one['older_text']}"))
        lines.append(shown(f"{'':>{len(one['decision']) + 10}}{one['newer_text']}", "dim"))
        if "composed" in one:
            lines.append(shown(f"{'':>{len(one['decision']) + 8}}= {one['composed']}"))
    lines += [
        shown(f"  came to nothing: {one['a']} and {one['b']} ({one['reason']})")
        for one in answer["refused"]
    ]
    return Group(*lines)


def _paid(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What a dry run cost: the log has it only once a run uses the answers."""
    cost = answer["cost"]
    if answer["dry_run"] and cost["calls"]:
        usd = "unknown" if cost["usd"] is None else f"${cost['usd']:.6f}"
        yield shown(f"calls for this dry run: {cost['calls']:,} ({usd})")
