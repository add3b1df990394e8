"""Finds the later decisions that depend on reversed joins, and the commands that change them.

A candidate has at most two commands: one removes its join, the other makes the decision that would
have been made. All removals come first, in an order in which none prevents another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from palimpsest.contracts.answers import ConsequenceTold
from palimpsest.contracts.commands import Combine, Redecide, Unmerge
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    FirstDecision,
    Joined,
    Ran,
    Redecided,
    Settled,
    Settlement,
)
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import UnmergeRequest, command_head
from palimpsest.streams.core.expand import in_one, outward, take_out
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.redecide import arrival_join
from palimpsest.streams.replay.without import Search, Without


@dataclass(frozen=True, slots=True)
class Consequence:
    """A candidate whose decision would have been different: its join, and the join it would make.

    `made` is the decision that would have been made in the history without the reversed joins, and
    `then` the candidate there. `asks` are neighbours that the judge was not asked about, but would
    have been.
    """

    candidate: Entry
    join: Edge | None
    would_join: Edge | None
    made: Decided | Settled | Redecided
    then: Entry
    asks_another: bool
    asks: tuple[str, ...]

    @property
    def decides(self) -> bool:
        """Whether something is left to decide after the join is removed."""
        return self.would_join is not None or self.asks_another

    @property
    def decision(self) -> FirstDecision | Settlement:
        """The decision's name; a join that a person reversed there, too, does not count."""
        if self.would_join is not None:
            return self.made.data.decision
        if self.then.closed:
            return "fallback_keep"
        return "pending" if self.then.asked else "stored"

    @property
    def evidence(self) -> Evidence:
        """The evidence of that decision, with the question that would be open."""
        recorded, asked = self.made.data.evidence, self.then.asked
        if self.would_join is None and not asked:
            return Evidence(policy=recorded.policy)
        known = {neighbour.candidate_id for neighbour in recorded.neighbours}
        found = structs.replace(recorded, asked=tuple(_asked(self.then)))
        if not known.issuperset(found.asked):
            return structs.replace(found, neighbours=asked)
        return found


@dataclass(frozen=True, slots=True)
class ConsequencePlan:
    """Consequences by arrival, and the ids of later statements that would not have been possible.

    `unmade` are the standing joins that batch runs without a judge would not have made, and `made`
    those that they would have made instead.
    """

    consequences: tuple[Consequence, ...]
    overtaken: tuple[str, ...] = ()
    unmade: tuple[Edge, ...] = ()
    made: tuple[Joined, ...] = ()


def plan(
    ledger: Ledger,
    events: Iterable[AnyEvent],
    out: Sequence[str],
    policies: Mapping[str, Policy],
    search: Search,
) -> ConsequencePlan:
    """How a ledger in which the joins `out` are reversed differs from its history without them.

    `events` are those before the reversals. If no decision was made by a policy with `search:
    memories`, and no batch run took place, none depends on a merge, and nothing is replayed.
    """
    recorded = list(events)
    has_runs = any(isinstance(event, Ran) for event in recorded)
    if not (out and (has_runs or _searched_memories(recorded, policies))):
        return ConsequencePlan(())
    history = Without(ledger.owner_id, frozenset(out), policies, search)
    history.replay(recorded)
    pairs = ((ledger.entries[then.id], then) for then in history.other.entries.values())
    found = (
        _consequence(history, now, then)
        for now, then in pairs
        if _asks_another(now, then) or _joins_another(now, then)
    )
    return ConsequencePlan(tuple(found), tuple(history.overtaken), *_of_runs(ledger, history))


def _of_runs(ledger: Ledger, history: Without) -> tuple[tuple[Edge, ...], tuple[Joined, ...]]:
    """The joins of runs that would not have been made, and those made in their place."""
    standing = [edge for edge in ledger.edges.values() if edge.standing]
    then = {id_: join for joins in history.again.values() for id_, join in joins.items()}
    now = {edge.id: edge for edge in standing if edge.cause in history.again}
    same = {id_ for id_ in now.keys() & then.keys() if _says(now[id_]) == _as_requested(then[id_])}
    known = [join for id_, join in then.items() if id_ not in same]
    return (
        tuple(edge for id_, edge in now.items() if id_ not in same),
        tuple(join for join in known if join.id in now or join.id not in ledger.edges),
    )


def _as_requested(event: Joined) -> tuple[str, str, list[str]]:
    text, join = event.data.composition, event.data.join
    return join.to, join.face, [text.content.hash] if text is not None else []


def _searched_memories(events: Sequence[AnyEvent], policies: Mapping[str, Policy]) -> bool:
    hashes = {event.data.evidence.policy for event in events if isinstance(event, Decided)}
    return any(policies[digest].search == "memories" for digest in hashes if digest in policies)


def _asks_another(now: Entry, then: Entry) -> bool:
    return (
        now.closed != then.closed or _asked(now) != _asked(then) or _waiting(now) != _waiting(then)
    )


def _joins_another(now: Entry, then: Entry) -> bool:
    made, would_make = arrival_join(now), arrival_join(then)
    if made is None or would_make is None:
        return made is not would_make
    return _says(made) != _says(would_make)


def _asked(entry: Entry) -> list[str]:
    return [neighbour.candidate_id for neighbour in entry.asked]


def _waiting(entry: Entry) -> list[Neighbour]:
    """The open neighbours as they were compared, because another text has other scores and cues."""
    return [neighbour for neighbour in entry.asked if neighbour.candidate_id in entry.open]


def _says(edge: Edge) -> tuple[str, str, list[str]]:
    """A join's older candidate, which face wins, and the hash of the text composed for it."""
    return edge.older.id, edge.face, [text.content.hash for text in [*edge.texts.values()][:1]]


def _consequence(history: Without, now: Entry, then: Entry) -> Consequence:
    return Consequence(
        candidate=now,
        join=arrival_join(now),
        would_join=arrival_join(then),
        made=history.made[then.id],
        then=then,
        asks_another=_asks_another(now, then),
        asks=then.open,
    )


def commands(
    ledger: Ledger, request: UnmergeRequest, out: Sequence[str], found: ConsequencePlan
) -> list[Unmerge | Redecide | Combine]:
    """The commands of a plan, in order; the same request gives the same ids.

    The last command settles candidates that waited for one of them.
    """
    joins = [consequence.join for consequence in found.consequences if consequence.join is not None]
    joins += found.unmade
    asked_for: list[Unmerge | Redecide | Combine] = [
        *(take_out(ledger, request, edge, out[0]) for edge in outward(joins)),
        *(
            _decided(ledger, request, out[0], consequence)
            for consequence in found.consequences
            if consequence.decides
        ),
        *(_joined(request, join) for join in found.made),
    ]
    return in_one(asked_for)


def _joined(request: UnmergeRequest, event: Joined) -> Combine:
    """The join that a run would have made, for this request."""
    data = event.data
    assert data.evidence is not None, "a run's join has evidence"
    assert data.join.face != "repeat", "a run's join repeats no text"
    assert data.decision != "manual_join", "a run's join is not a person's"
    return Combine(
        **command_head(request, event.owner_id, f"{data.join.to}:{data.candidate_id}"),
        a=data.join.to,
        b=data.candidate_id,
        decision=data.decision,
        face=data.join.face,
        composition=data.composition,
        evidence=data.evidence,
        outright=bool(data.join.outright),
        cause=request.request_id,
    )


def _decided(
    ledger: Ledger, request: UnmergeRequest, out: str, consequence: Consequence
) -> Redecide:
    data, joins = consequence.made.data, consequence.would_join is not None
    return Redecide(
        **command_head(request, ledger.owner_id, consequence.candidate.id),
        candidate_id=consequence.candidate.id,
        consequence_of=out,
        decision=consequence.decision,
        join=data.join if joins else None,
        composition=data.composition if joins else None,
        evidence=consequence.evidence,
        rank="rule" if isinstance(consequence.made, Decided) else consequence.made.data.rank,
        cause=request.request_id,
    )


def describe(consequence: Consequence) -> ConsequenceTold:
    """A consequence in the form of answers."""
    was, join = consequence.join, consequence.would_join
    return {
        "candidate_id": consequence.candidate.id,
        "text": consequence.candidate.text,
        "decision_id": was.id if was else None,
        "was": {
            "decision": was.decision if was else _alone(consequence.candidate),
            "joined_to": was.older.id if was else None,
        },
        "would_be": {
            "decision": consequence.decision,
            "joined_to": join.older.id if join else None,
        },
        "asks": list(consequence.asks),
    }


def describe_runs(ledger: Ledger, found: ConsequencePlan) -> list[ConsequenceTold]:
    """The joins that batch runs would have made differently, by newer candidate, for an answer."""
    was = {edge.newer.id: edge for edge in found.unmade}
    then = {event.data.candidate_id: event for event in found.made}
    return [
        {
            "candidate_id": candidate_id,
            "text": ledger.entries[candidate_id].text,
            "decision_id": was[candidate_id].id if candidate_id in was else None,
            "was": {
                "decision": was[candidate_id].decision
                if candidate_id in was
                else _alone(ledger.entries[candidate_id]),
                "joined_to": was[candidate_id].older.id if candidate_id in was else None,
            },
            "would_be": {
                "decision": then[candidate_id].data.decision
                if candidate_id in then
                else _alone(ledger.entries[candidate_id]),
                "joined_to": then[candidate_id].data.join.to if candidate_id in then else None,
            },
            "asks": [],
        }
        for candidate_id in {**was, **then}
    ]


def _alone(entry: Entry) -> str:
    return "pending" if entry.pending else "stored"
