"""The texts that a policy keeps from remote services (docs/judge.md)."""

from __future__ import annotations

from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.faces import Face
from palimpsest.streams.core.ledger import Entry, Ledger


def is_local(ledger: Ledger, entry: Entry, policy: Policy) -> bool:
    """Whether a text may not be sent: the policy names this candidate, or one with the same text.

    A composed text is local if a source is, even if a candidate repeats it.
    """
    if not policy.local_only:
        return False
    seen: set[str] = set()
    waiting = [entry]
    while waiting:
        said = waiting.pop()
        if said.id in seen:
            continue
        if policy.keeps_local(said.fields):
            return True
        seen.add(said.id)
        waiting += said.distinct.members
        waiting += (
            ledger.entries[source]
            for join in said.distinct.composed_for
            for text in join.texts.values()
            for source in text.sources
            if source in ledger.entries
        )
    return False


def face_is_local(ledger: Ledger, face: Face, policy: Policy) -> bool:
    """Whether a memory's face may not be sent, because of any of its sources."""
    return any(is_local(ledger, ledger.entries[source], policy) for source in face.sources)
