"""Forgetting: memories leave with all their wordings and can be restored (docs/intent.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from palimpsest.contracts.commands import Forget
from palimpsest.contracts.events import OnCandidateData, Retracted
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.operate import Result
from palimpsest.streams.core.refusal import Refusal, unknown_candidate
from palimpsest.streams.core.version import uncovered

NAMED = 5
"""The maximum number of ids that a refusal names."""
OF_NO_PREVIEW = (
    "no preview of these memories, as they are now, made this token: they have changed since, or it"
    " is another's; look again"
)


def forget(command: Forget, ledger: Ledger, now: datetime) -> Result:
    """One `retracted` event for every living member, all with one cause; no join is reversed."""
    found: dict[str, Memory] = {}
    for memory in command.memories:
        entry = ledger.entries.get(memory)
        if entry is None:
            return unknown_candidate(memory)
        found[entry.memory.id] = entry.memory
    if command.expect is not None and (moved := uncovered(command.expect, [*found.values()])):
        return Refusal("moved_on", _changed(moved) if len(moved) < len(found) else OF_NO_PREVIEW)
    members = [entry for memory in found.values() for entry in memory.members if entry.living]
    if not members:
        return Refusal("retracted_already", "none of the memories has a living member")
    return [
        Retracted(
            **head(command, entry.id, now, step),
            data=OnCandidateData(
                candidate_id=entry.id,
                actor=command.actor,
                because=command.because,
                cause=command.cause,
                again=command.again,
                earlier=command.earlier,
                speaker=command.speaker,
            ),
        )
        for step, entry in enumerate(sorted(members, key=lambda entry: entry.place))
    ]


def _changed(moved: Sequence[Memory]) -> str:
    ids = ", ".join(memory.id for memory in moved[:NAMED])
    more = f" and {len(moved) - NAMED:,} more" if len(moved) > NAMED else ""
    return f"changed since the token was made, or not covered by it: {ids}{more}; look again"
