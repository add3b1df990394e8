"""The results of a cleaning as documents: the summary, and each duplicate with its partner."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from palimpsest.cleaning.clean import Cleaned, Rules
from palimpsest.cleaning.within import WITHIN
from palimpsest.evaluation.rates import trials_needed

MOST_NAMED = 20
"""Maximum number of unreadable rows that a summary names; the others are only counted."""
WRONG_SHARE, CONFIDENCE = 0.05, 0.95
"""If all sampled joins by cosine alone are right, fewer than this share of all are wrong."""
FIELDS = (
    *("row", "partner_row", "kept_row", "rule", "score", "stopped"),
    *("text", "partner_text", "kept_text"),
)
DECISION = "decision_id"
"""The field of a duplicate's join in a store, for `unmerge`."""


def summary_of(found: Cleaned, rules: Rules, *, first: int = 1) -> dict[str, Any]:
    """Counts of rows, joins and groups; the first row has the number `first`."""
    texts = found.texts
    sizes = Counter(Counter(found.stays.values()).values())
    joined = Counter(join.rule for join in found.why.values())
    unreadable = [
        dict(zip(("row", "reason", "detail"), (row + first, *problem.split(": ", 1)), strict=True))
        for row, problem in texts.problems.items()
    ]
    return {
        "rows": len(texts.of),
        "kept": len(texts.of) - len(found.stays),
        "removed": len(found.stays),
        "rules": dict(joined.most_common()),
        "groups": sizes.total(),
        "largest": max(sizes, default=0) + 1 if sizes else 0,
        "unreadable": len(unreadable),
        "unreadable_rows": unreadable[:MOST_NAMED],
        "policy": rules.policy.name,
        "policy_composes": rules.policy.judge.ask == "compose",
        "keep": rules.keep,
        "within": _within(found, rules.within),
        "separated": len(rules.separated),
        "held": found.held,
        "embedded": found.embedded,
    }


def _within(found: Cleaned, similarity: float | None) -> dict[str, Any] | None:
    """The joins by cosine alone, how many the guard would have stopped, and why."""
    if similarity is None:
        return None
    joins = [join for join in found.joins if join.rule == WITHIN]
    return {
        "similarity": similarity,
        "joined": len(joins),
        "stopped": sum(bool(join.stopped) for join in joins),
        "cues": dict(Counter(cue for join in joins for cue in join.stopped).most_common()),
        "look_at": min(len(joins), trials_needed(WRONG_SHARE, CONFIDENCE)),
    }


def duplicates_of(found: Cleaned, *, first: int = 1) -> Iterator[dict[str, Any]]:
    """Each removed row, in order, with the row that it was joined to and the one that stays.

    If it was not joined itself but another row was joined to it, that row is its partner. The first
    row has the number `first`.
    """
    for row in sorted(found.stays):
        join, kept = found.why[row], found.stays[row]
        partner = join.partner if join.row == row else join.row
        yield {
            "row": row + first,
            "partner_row": partner + first,
            "kept_row": kept + first,
            "rule": join.rule,
            "score": join.score,
            "stopped": [*join.stopped],
            "text": found.text(row),
            "partner_text": found.text(partner),
            "kept_text": found.text(kept),
        } | ({DECISION: join.decision_id} if join.decision_id else {})


def write_duplicates(found: Cleaned, to: Path, *, as_csv: bool) -> None:
    """Write the duplicates as JSON lines, or as CSV."""
    if not as_csv:
        with to.open("wb") as file:
            file.writelines(orjson.dumps(row) + b"\n" for row in duplicates_of(found))
        return
    with to.open("w", encoding="utf-8", newline="") as table:
        kept = any(join.decision_id for join in found.why.values())
        writer = csv.DictWriter(table, (*FIELDS, DECISION) if kept else FIELDS)
        writer.writeheader()
        for row in duplicates_of(found):
            writer.writerow(row | {"stopped": " ".join(row["stopped"])})
