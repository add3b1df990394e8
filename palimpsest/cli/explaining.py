"""Draws why candidates are together or apart."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palimpsest.charts.kinds import happened
from palimpsest.cli.rendering import shown
from palimpsest.queries.path import Step
from palimpsest.queries.triangles import Triangle
from palimpsest.queries.why import Explanation, Reason, WhyNot

DETAILS = ("by", "actor", "at", "model", "event_id")
"""The fields of a reason that are shown beside its sentence."""


def why(answer: Explanation) -> RenderableType:
    """Each candidate with its decision, and the path to the one that it was compared with."""
    place = f"{answer['owner_id']} / {answer['namespace']}"
    lines: list[RenderableType] = [
        shown(answer["face"], "bold"),
        shown(f"memory {answer['memory_id']}  {place}", "dim"),
    ]
    for candidate in answer["candidates"]:
        lines += [
            Text(),
            shown(candidate["text"]),
            shown(f"  {happened(candidate['decision'])}  {candidate['decided_at']}", "cyan"),
            shown(f"  candidate {candidate['candidate_id']}  {candidate['decision_id']}", "dim"),
        ]
        if candidate["other_text"] is None:
            lines.append(shown("  nothing was near enough to look at", "dim"))
            continue
        verb = "joined" if candidate["joined_to"] else "nearest, and not joined"
        lines += [shown(f"  {verb}: {candidate['other_text']}"), _steps(candidate["steps"])]
    return Group(*lines)


def _steps(steps: Sequence[Step]) -> RenderableType:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 2))
    for step in steps:
        thresholds = "; ".join(step["thresholds"])
        cells = (step["name"], step["found"], thresholds, step["outcome"])
        table.add_row(*(shown(cell) for cell in cells))
    return table


def why_not(answer: WhyNot) -> RenderableType:
    """Two candidates, the reasons why they are apart, and the path of the newer one's decision."""
    sides = [
        Group(shown(side["text"]), shown(f"  {side['candidate_id']}", "dim"))
        for side in (answer["older"], answer["newer"])
    ]
    if answer["together"]:
        return Group(*sides, shown("they are in one memory: `palimpsest why` with one id says why"))
    reasons = [_reason(reason) for reason in answer["reasons"]]
    head = reasons or [shown("nothing that was recorded says why: they were never compared")]
    return Group(*sides, *head, _steps(answer["steps"]))


def _reason(reason: Reason) -> RenderableType:
    lines = [Text.assemble(shown(reason["reason"], "yellow"), shown(f": {reason['detail']}"))]
    if "words" in reason:
        older, newer = reason["words"]
        lines.append(shown(f"  {older or '(nothing)'} | {newer or '(nothing)'}"))
    if reason.get("because"):
        lines.append(shown(f"  because: {reason['because']}"))
    details = [f"{name} {reason[name]}" for name in DETAILS if reason.get(name)]  # type: ignore[literal-required]
    if details:
        lines.append(shown(f"  {'  '.join(details)}", "dim"))
    return Group(*lines)


def triangles(found: Sequence[Triangle]) -> RenderableType:
    """Each triangle: a candidate, the one that it is near, and the one that it is joined to."""
    lines: list[RenderableType] = []
    for one in found:
        lines += [
            shown(f"{one['similarity']:.4f}", "bold"),
            shown(f"  {one['joined_text']}"),
            shown(f"  is near    {one['other_text']}"),
            shown(f"  joined to  {one['one_text']}"),
            shown(f"  {one['joined']}  {one['other']}  {one['one']}", "dim"),
        ]
    nothing = "no separated pair has a third candidate joined to one and near the other"
    return Group(*lines) if lines else shown(nothing)
