"""A memory as reads return it: its face, its wordings, and their origins. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from palimpsest.contracts.policy import Policy, Worth
from palimpsest.contracts.shown import Shown, State, Wording
from palimpsest.contracts.urn import Urn
from palimpsest.projections.base.totals import Total
from palimpsest.streams.core.faces import standing_text
from palimpsest.streams.core.ledger import Edge, Entry, Memory
from palimpsest.streams.core.version import version_of
from palimpsest.streams.core.worth import worth


@dataclass(frozen=True, slots=True)
class Weighing:
    """Computes confidence and importance at a time, by a policy, with an optional minimum.

    `unrecorded` has the latest uses that are not in the log yet, by memory id.
    """

    policy: Policy
    at: datetime
    min_confidence: float | None
    unrecorded: Mapping[str, datetime] = field(default_factory=dict)

    def worth(self, memory: Memory, name: Worth) -> float | None:
        """A memory's confidence or importance; None if it has none."""
        return worth(memory, name, self.policy, self.at, self.unrecorded)

    def keeps(self, memory: Memory) -> bool:
        """Whether its confidence reaches the minimum; a memory without one always passes."""
        if self.min_confidence is None:
            return True
        confidence = self.worth(memory, "confidence")
        return confidence is None or confidence >= self.min_confidence


def shown_memory(
    memory: Memory, weighing: Weighing | None = None, *, former: bool = False
) -> Shown:
    """A memory as reads return it; with `former`, former wordings are included."""
    total, owner_id = Total.of(memory), memory.members[0].fields.owner_id
    began = memory.members[0].decided_at
    created_at = iso_time(began)
    shown = Shown(
        memory_id=memory.id,
        urn=str(Urn(owner_id, memory.namespace, memory.id)),
        face=memory.text,
        namespace=memory.namespace,
        members=wordings(memory, former=former),
        intensity=total.intensity,
        metadata=dict(total.metadata),
        created_at=created_at,
        updated_at=created_at if memory.updated is began else iso_time(memory.updated),
        occurred_at=iso_time(total.occurred_at) if total.occurred_at else None,
        version=version_of(memory),
    )
    if weighing is not None:
        shown["confidence"] = weighing.worth(memory, "confidence")
        shown["importance"] = weighing.worth(memory, "importance")
    if (expires_at := memory.expires_at) is not None:
        shown["expires_at"] = iso_time(expires_at)
    return shown


def state_of(memory: Memory, at: datetime) -> State:
    """`retracted`, `expired` at that time, `pending` if all living members are, or `living`."""
    if memory.living and memory.has_expired(at):
        return "expired"
    return Total.of(memory).status if memory.living else "retracted"


def iso_time(time: datetime) -> str:
    """A time in ISO 8601. Without a zone, as in tables, it is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


def wordings(memory: Memory, *, former: bool) -> list[Wording]:
    """Its distinct living texts, or all if it is retracted; displaced ones only with `former`."""
    replaced = displaced_of(memory)
    found = [
        wording(entry, former=entry in replaced)
        for entry in _speakers(memory)
        if former or entry not in replaced
    ]
    return sorted(found, key=lambda one: one["candidate_id"])


def _speakers(memory: Memory) -> list[Entry]:
    """The earliest living candidate of each text; the earliest of all if no member is living."""
    if memory.living:
        return [entry for entry in memory.members if entry.distinct.representative is entry]
    earliest: dict[str, Entry] = {}
    for entry in memory.members:
        earliest.setdefault(entry.distinct.hash, entry)
    return list(earliest.values())


def wording(entry: Entry, *, former: bool) -> Wording:
    """A candidate's text with its origin."""
    edge, fields = brought_by(entry), entry.fields
    return Wording(
        candidate_id=entry.id,
        text=entry.text,
        relation="former" if former else "same",
        source=fields.source,
        session_id=fields.session_id,
        occurred_at=iso_time(fields.occurred_at) if fields.occurred_at else None,
        decision=edge.decision if edge else entry.decision,
        decision_id=edge.id if edge else entry.decision_id,
    )


def brought_by(entry: Entry) -> Edge | None:
    """The standing join that joined a candidate to an older one; None if it came alone."""
    return next((e for e in entry.edges if e.standing and e.newer is entry), None)


def displaced_of(memory: Memory) -> Collection[Entry]:
    """The members whose texts the face has displaced: every path to them leads over a *take*.

    A person's choice of the face displaces texts in the same way. If a repeat brings a former face
    back, all members that say the same return with it.
    """
    if len(memory.members) == 1:
        return ()
    edges = list(memory.edges())
    by_id = {entry.id: entry for entry in memory.members} if memory.texted else {}
    if all(_agrees(edge, by_id) for edge in edges):
        return ()
    edges.sort(key=lambda edge: edge.place)
    joins = ((edge.older, edge.newer, _agrees(edge, by_id)) for edge in edges)
    return displaced(memory.members, joins, memory.face.speaker)


def _agrees(edge: Edge, by_id: dict[str, Entry]) -> bool:
    """Whether both parts still agree with the joined memory's text."""
    if edge.former or edge.face == "take":
        return False
    return edge.face != "text" or standing_text(edge, by_id) is not None


Member = TypeVar("Member", bound=Hashable)


def displaced(
    members: Iterable[Member], joins: Iterable[tuple[Member, Member, bool]], speaks: Member
) -> set[Member]:
    """The members that can be reached from the face only over a join that does not agree.

    A join of two members that are already connected by earlier joins is a support: it does not
    count.
    """
    together = {member: member for member in members}
    same = dict(together)
    for older, newer, agrees in joins:
        if _unite(together, older, newer) and agrees:
            _unite(same, older, newer)
    return {member for member in same if _root(same, member) != _root(same, speaks)}


def _unite(parent: dict[Member, Member], member: Member, other: Member) -> bool:
    """Unite two sets; returns whether they were separate."""
    a, b = _root(parent, member), _root(parent, other)
    parent[b] = a
    return a != b


def _root(parent: dict[Member, Member], member: Member) -> Member:
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = parent[member]
    return member
