"""A join that a batch run makes between existing candidates (docs/design.md)."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from palimpsest.contracts.commands import Combine
from palimpsest.contracts.events import Join, Joined, JoinedData
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.operate import Result, pair_of, spoken_twice
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.settle import obstacle, usable, with_speakers


def combine(command: Combine, ledger: Ledger, now: datetime) -> Result:
    """One `joined` event; refused if the pair may not be joined or waits for the judge.

    Like every automatic event it yields to separations of any rank (law L9). Its place is its own
    position, because it joins memories as they are now.
    """
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    refusal = hindrance_of(ledger, older, newer)
    if refusal is not None:
        return refusal
    if command.face == "text" and not usable(ledger, command.composition, newer.fields.namespace):
        return Refusal(
            "unusable_text", "the text is blank, has no source, or is another candidate's"
        )
    outright = True if command.outright and command.face == "take" else None
    score = _similarity(command)
    # A batch run compares memories' faces.
    verdicts = with_speakers(command.evidence.verdicts, ledger, newer, "memories")
    data = JoinedData(
        decision=command.decision,
        candidate_id=newer.id,
        join=Join(to=older.id, face=command.face, similarity=score, outright=outright),
        composition=command.composition if command.face == "text" else None,
        evidence=structs.replace(command.evidence, verdicts=verdicts),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        cause=command.cause,
    )
    joined = Joined(**head(command, newer.id, now), data=data)
    return spoken_twice(ledger, joined) or [joined]


def hindrance_of(ledger: Ledger, older: Entry, newer: Entry) -> Refusal | None:
    """Why a batch run may not join two candidates now, or None if it may."""
    return obstacle(ledger, newer, older) or _forestalled(older, newer)


def _forestalled(older: Entry, newer: Entry) -> Refusal | None:
    """A refusal while the judge is being asked about the two memories."""
    waits = _asking(older.memory, newer.memory) or _asking(newer.memory, older.memory)
    if waits is None:
        return None
    return Refusal("pending", f"candidate {waits.id} waits for the judge's answer about the two")


def _asking(asking: Memory, about: Memory) -> Entry | None:
    """A member of one memory that waits for a verdict on a member of the other."""
    members: set[str] | None = None
    for entry in asking.members:
        if entry.pending:
            members = members or {member.id for member in about.members}
            if any(neighbour.candidate_id in members for neighbour in entry.asked):
                return entry
    return None


def _similarity(command: Combine) -> float | None:
    """The score of the pair, as the batch run recorded it."""
    for neighbour in command.evidence.neighbours:
        if neighbour.candidate_id in (command.a, command.b):
            return neighbour.cosine if neighbour.cosine is not None else neighbour.jaccard
    return None
