"""When a candidate happened, which is rarely when it was recorded (docs/design.md, Faces)."""

from __future__ import annotations

from datetime import datetime, timedelta

from palimpsest.contracts.candidate import Candidate, CandidateFields
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Entry, Memory


def moment(entry: Entry) -> datetime:
    """The producer's `occurred_at`, capped at the time of recording; without one, that time."""
    return happened(entry.fields.occurred_at, entry.decided_at) or entry.decided_at


def happened(occurred_at: datetime | None, recorded_at: datetime) -> datetime | None:
    """When it happened, as stated by its producer, but no later than it was recorded."""
    return None if occurred_at is None else min(occurred_at, recorded_at)


def by_moment(entry: Entry) -> tuple[datetime, int]:
    """A sort key, oldest first: by moment, ties by arrival."""
    return moment(entry), entry.place


def face_moment(memory: Memory) -> datetime:
    """The moment of a memory's face; for a composed text, that of its latest source."""
    if len(memory.members) == 1:
        return moment(memory.members[0])  # the usual case: its face is not kept
    face = memory.face
    if face.composition is None:
        return moment(face.speaker)
    sources = frozenset(face.composition.sources)
    return max(moment(entry) for entry in memory.members if entry.id in sources)


def expiry_of(
    candidate: Candidate | CandidateFields, policy: Policy, now: datetime
) -> datetime | None:
    """When a newcomer expires, by its own fields or the policy for its category; None means never.

    A duration is counted from `now`, the moment of its event.
    """
    if candidate.expires_at is not None:
        return candidate.expires_at
    seconds = candidate.ttl
    if seconds is None and policy.expiry and candidate.category is not None:
        seconds = policy.expiry.get(candidate.category)
    return None if seconds is None else now + timedelta(seconds=seconds)
