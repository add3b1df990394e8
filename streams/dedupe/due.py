"""Whether a batch run of an owner is due, according to the policy's rule. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from palimpsest.contracts.counting import counted
from palimpsest.contracts.events import BatchStep
from palimpsest.contracts.policy import Dedupe
from palimpsest.streams.core.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why an owner's run is not due: a stable code, and a sentence."""

    reason: Literal["too_few_memories", "too_soon"]
    detail: str


def count_current(ledger: Ledger) -> int:
    """The number of current memories of the owner, in all namespaces."""
    return sum(memory.current for memory in ledger.memories())


def not_due(ledger: Ledger, rule: Dedupe, step: BatchStep, due: datetime) -> Skipped | None:
    """Why a run is not due; None if it is.

    The hours count from the time at which the last run was due, not from its end, so a nightly run
    that took long, or was late, does not delay the next one.
    """
    count = count_current(ledger)
    if count <= rule.more_than:
        few = f"{counted(count, 'memory')}, and the policy requires more than {rule.more_than}"
        return Skipped("too_few_memories", few)
    last = ledger.runs.get(step)
    if last is not None and (due - last.due) / timedelta(hours=1) < rule.hours:
        last_due = last.due.isoformat(timespec="seconds")
        soon = (
            f"the last run was due at {last_due}, and the policy requires {rule.hours:g} h between"
            " runs"
        )
        return Skipped("too_soon", soon)
    return None
