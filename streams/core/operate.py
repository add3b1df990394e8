"""What a person says of pairs and decisions: merge, separate, un-merge, reinstate (design 2, 9)."""

from __future__ import annotations

from datetime import datetime

from contracts.commands import Merge, Reinstate, Separate, Unmerge
from contracts.events import (
    RANKS,
    AnyEvent,
    FaceRule,
    Join,
    Joined,
    JoinedData,
    OnDecisionData,
    Rank,
    Reinstated,
    Reversed,
    ReversedData,
    Separated,
    SeparatedData,
    Settled,
    SettledData,
)
from contracts.evidence import Evidence
from contracts.policy import Policy
from streams.core.envelope import head
from streams.core.faces import fold_face
from streams.core.graph import path, reachable
from streams.core.ledger import Edge, Entry, Ledger, Memory
from streams.core.refusal import Refusal, chain, unknown_candidate, unknown_decision

Result = list[AnyEvent] | Refusal
Pair = tuple[Entry, Entry]


def merge(command: Merge, ledger: Ledger, now: datetime) -> Result:
    """`manual_join`: a person says that two candidates are the same."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    if not (older.living and newer.living):
        return Refusal("not_living", "one of the two is retracted: restore it first")
    if command.face not in (None, older.id, newer.id):
        return Refusal("not_a_face", f"the face must be {older.id} or {newer.id}")
    if any(e.standing and e.by_person and e.other(newer) is older for e in newer.edges):
        return Refusal("standing_already", "a person has said so already")
    conflict = _conflict(ledger, older, newer, rank="person", beside=(older, newer))
    if conflict is not None:
        return conflict
    face: FaceRule = "take" if command.face == newer.id else "keep"
    data = JoinedData(
        decision="manual_join",
        candidate_id=newer.id,
        join=Join(to=older.id, face=face, similarity=None),
        rank="person",
        actor=command.actor,
        because=command.because,
    )
    return [Joined(**head(command, newer.id, now), data=data)]


def pair_of(ledger: Ledger, a: str, b: str) -> Pair | Refusal:
    """Two known candidates of one scope, the older first."""
    for candidate_id in (a, b):
        if candidate_id not in ledger.entries:
            return unknown_candidate(candidate_id)
    if a == b:
        return Refusal("same_candidate", "a candidate is always the same as itself")
    first, second = ledger.entries[a], ledger.entries[b]
    if first.fields.namespace != second.fields.namespace:
        return Refusal("two_namespaces", "joins stay inside one namespace")
    return (first, second) if first.place < second.place else (second, first)


def _conflict(
    ledger: Ledger, older: Entry, newer: Entry, *, rank: Rank, beside: Pair
) -> Refusal | None:
    """A separation of this rank or a higher one that the union would contradict, with the path."""
    for x, y in _separated_pairs(ledger, older.memory, newer.memory):
        statement = ledger.separated(x.id, y.id)
        if {x, y} == set(beside) or statement is None:
            continue
        if RANKS[statement.rank] >= RANKS[rank]:
            return Refusal(
                "separated",
                f"a {statement.rank} said that {x.id} and {y.id} are not the same; "
                f"they would be one memory through {chain(older, x)} and {chain(y, newer)}",
            )
    return None


def _separated_pairs(ledger: Ledger, a: Memory, b: Memory) -> list[Pair]:
    if a is b:
        return []
    return [
        (entry, ledger.entries[other])
        for entry in a.members
        for other, statement in ledger.statements.get(entry.id, {}).items()
        if statement.separated and ledger.entries[other].memory is b
    ]


def separate(command: Separate, ledger: Ledger, policy: Policy, now: datetime) -> Result:
    """`separated`; a pending candidate apart from all that it was compared with is settled too."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal):
        return pair
    older, newer = pair
    if older.memory is newer.memory:
        return Refusal(
            "one_memory",
            f"they are one memory through {chain(older, newer)}: un-merge one of these first",
        )
    held = ledger.separated(older.id, newer.id)
    if held is not None and RANKS[held.rank] >= RANKS[command.rank]:
        return Refusal("standing_already", f"a {held.rank} has separated them already")
    data = SeparatedData(
        candidate_id=newer.id,
        other_id=older.id,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        verdicts=command.verdicts,
        similarity=command.similarity,
    )
    separated = Separated(**head(command, newer.id, now), data=data)
    return [separated, *_settled_by(command, ledger, policy, pair, now)]


def finish_separate(
    command: Separate, ledger: Ledger, policy: Policy, now: datetime
) -> list[AnyEvent]:
    """What is missing of a separation that was cut short by a crash; nothing if it was refused."""
    pair = pair_of(ledger, command.a, command.b)
    if isinstance(pair, Refusal) or not ledger.separated(pair[0].id, pair[1].id):
        return []
    return _settled_by(command, ledger, policy, pair, now)


def _settled_by(
    command: Separate, ledger: Ledger, policy: Policy, pair: Pair, now: datetime
) -> list[AnyEvent]:
    older, newer = pair
    sides = ((older, newer), (newer, older))
    return [
        _kept(command, policy, entry, step, now)
        for step, (entry, other) in enumerate(sides, 1)
        if _nothing_left_to_ask(ledger, entry, other)
    ]


def _nothing_left_to_ask(ledger: Ledger, entry: Entry, other: Entry) -> bool:
    asked = (neighbour.candidate_id for neighbour in entry.asked)
    return entry.pending and all(i == other.id or ledger.separated(entry.id, i) for i in asked)


def _kept(command: Separate, policy: Policy, entry: Entry, step: int, now: datetime) -> Settled:
    data = SettledData(
        decision="llm_keep",
        candidate_id=entry.id,
        evidence=Evidence(policy=policy.hash, check="person"),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Settled(**head(command, entry.id, now, step), data=data)


def unmerge(command: Unmerge, ledger: Ledger, now: datetime) -> Result:
    """`reversed`: one join out and its pair separated (design section 9)."""
    edge = _edge(ledger, command.decision_id)
    if isinstance(edge, Refusal):
        return edge
    if not edge.standing:
        return Refusal("not_standing", f"decision {edge.id} is reversed already")
    said = ledger.statements.get(edge.newer.id, {}).get(edge.older.id)
    if said is not None and not said.separated and RANKS[said.rank] > RANKS[command.rank]:
        return Refusal("outranked", f"a {said.rank} said that the two are the same")
    rest = path(edge.newer, edge.older, without=edge)
    if rest is not None and not edge.by_person:
        persons = ", ".join(e.id for e in rest if e.by_person) or ", ".join(e.id for e in rest)
        return Refusal("supported", f"the two stay one memory by {persons}: un-merge that first")
    if rest is None and _same_text_on_both_sides(edge):
        return Refusal("same_text", "the same text would live in two memories: it can only be one")
    data = ReversedData(
        decision_id=edge.id,
        candidate_id=edge.newer.id,
        joined_to=edge.older.id,
        separates=rest is None and command.consequence_of is None,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        verdicts=command.verdicts,
        consequence_of=command.consequence_of,
    )
    return [Reversed(**head(command, edge.id, now), data=data)]


def _edge(ledger: Ledger, decision_id: str) -> Edge | Refusal:
    edge = ledger.edges.get(decision_id)
    if edge is not None:
        return edge
    if decision_id in ledger.decisions:
        return Refusal("not_a_join", f"decision {decision_id} joined nothing")
    return unknown_decision(decision_id)


def _same_text_on_both_sides(edge: Edge) -> bool:
    memory = edge.newer.memory
    side = reachable(edge.newer, without=edge)
    ours = [entry for entry in memory.members if entry in side]
    theirs = [entry for entry in memory.members if entry not in side]
    joins = [join for join in memory.edges() if join is not edge]
    return bool(_texts(ours, joins) & _texts(theirs, joins))


def _texts(members: list[Entry], joins: list[Edge]) -> set[str]:
    """The hashes of the texts that would live in a part, a composed one that speaks included."""
    everyone = set(members)
    face, _ = fold_face(members, [join for join in joins if join.newer in everyone])
    texts = {entry.distinct.hash for entry in members if entry.living}
    return texts | {face.hash} if face.speaker.living else texts


def reinstate(command: Reinstate, ledger: Ledger, now: datetime) -> Result:
    """`reinstated`: a reversal taken back."""
    edge = _edge(ledger, command.decision_id)
    if isinstance(edge, Refusal):
        return edge
    if edge.standing:
        return Refusal("standing_already", f"decision {edge.id} stands")
    pair = (edge.older, edge.newer)
    held = ledger.separated(edge.older.id, edge.newer.id)
    if held is not None and RANKS[held.rank] > RANKS[command.rank]:
        return Refusal("separated", f"a {held.rank} has separated the pair")
    conflict = _conflict(ledger, *pair, rank=command.rank, beside=pair)
    if conflict is not None:
        return conflict
    data = OnDecisionData(
        decision_id=edge.id, rank=command.rank, actor=command.actor, because=command.because
    )
    return [Reinstated(**head(command, edge.id, now), data=data)]
