"""Expands a request to one command per join or candidate of an owner (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from palimpsest.contracts.commands import (
    OwnerCommand,
    Redecide,
    Reinstate,
    Restore,
    Retract,
    Unmerge,
)
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import (
    JoinSelection,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    UnmergeRequest,
    command_head,
)
from palimpsest.streams.core.ledger import Edge, Entry, Ledger, Memory, Question, Reversal
from palimpsest.streams.core.separations import agreed, is_separated_beside

FORGET = "forget"
"""The target of a request to forget, from which the id of its first event follows."""


def unmerge_commands(ledger: Ledger, request: UnmergeRequest) -> list[Unmerge]:
    """One command for each join that a request names, including those it reversed before a crash.

    For a memory: all joins but exact repeats, a person's first, because they may support others. If
    there are none, the command names another decision, whose refusal says why.
    """
    if request.decision_id is not None:
        return [_unmerge(ledger, request, request.decision_id)]
    entry = ledger.entries.get(request.candidate_id or request.memory_id or "")
    if entry is None:
        return []
    if request.candidate_id is not None:
        edges = [edge for edge in entry.edges if edge.newer is entry]
        edges = [edge for edge in edges if _open(ledger, request, edge)]
        instead = entry.decision_id
    else:
        edges = _joins_of_memory(ledger, request, entry.memory)
        instead = next((edge.id for edge in entry.memory.edges()), entry.decision_id)
    edges.sort(key=lambda edge: (not edge.by_person, -edge.place))
    named = [edge.id for edge in edges] or [instead]
    return [_unmerge(ledger, request, decision_id) for decision_id in named]


def _joins_of_memory(ledger: Ledger, request: UnmergeRequest, memory: Memory) -> list[Edge]:
    """A memory's joins but exact repeats; after a crash, also those already reversed."""
    joins = {edge.id: edge for edge in memory.edges()}
    for edge in ledger.edges.values():
        if not edge.standing and _done(ledger, request, edge.id):
            joins[edge.id] = edge
    return [edge for edge in joins.values() if not edge.exact]


SomeCommand = TypeVar("SomeCommand", bound=OwnerCommand)


def in_one(commands: Sequence[SomeCommand]) -> list[SomeCommand]:
    """Commands as one unit: the last one settles what all of them free."""
    more = [command.model_copy(update={"more_follow": True}) for command in commands[:-1]]
    return [*more, *commands[-1:]]


def reinstate_commands(
    ledger: Ledger, request: ReinstateRequest, policy: Policy
) -> list[Unmerge | Redecide | Reinstate]:
    """Take a reversal back, with all that its request did because of it (docs/design.md).

    First, joins that the request made since are reversed, latest first. So are joins of the two
    memories that answers made once nothing held them back, unless a person agreed to them; whatever
    is free afterwards is settled again. Then questions are restored. Finally the join comes back,
    and with it the joins reversed as its consequences, except those that the request itself had
    made. Repeats of a text that the join composed come back before it, because otherwise they would
    hold the same text beside the join.
    """
    edge = ledger.edges.get(request.decision_id)
    reversal = edge.reversed_by if edge is not None else None
    if edge is None or reversal is None or reversal.cause is None or reversal.consequence_of:
        return [_reinstate(ledger, request, request.decision_id)]
    cause = reversal.cause
    homes = (edge.newer.memory, edge.older.memory) if is_separated_beside(ledger, edge) else ()
    made = _made_since(ledger, reversal, cause, homes)
    consequences = ledger.consequences.get(cause, {}).values()
    gone = [consequence for consequence in consequences if consequence.cause != cause]
    gone.sort(key=lambda edge: (edge.place, edge.order))
    repeats = [edge.id for edge in gone if edge.repeats_a_composition]
    others = [edge.id for edge in gone if not edge.repeats_a_composition]
    questions = _questions_before(ledger, reversal, cause, homes)
    return in_one(
        [
            *(take_out(ledger, request, join, request.decision_id) for join in outward(made)),
            *(
                _asked_again(ledger, request, candidate_id, question, policy)
                for candidate_id, question in questions.items()
                if ledger.entries[candidate_id].asked_by == question.replaced_by
            ),
            *(
                _reinstate(ledger, request, decision_id)
                for decision_id in (*repeats, request.decision_id, *others)
            ),
        ]
    )


def _made_since(
    ledger: Ledger, reversal: Reversal, cause: str, homes: tuple[Memory, ...]
) -> list[Edge]:
    """The joins made since a reversal because of its request, and those that it freed.

    The latter are joins of the memories `homes`, to which no person agreed.
    """
    made = {*ledger.made.get(cause, {}).values()}
    for join in ledger.freed if homes else ():
        if join.newer.memory in homes and join.standing and agreed(ledger, join) is None:
            made.add(join)
    return sorted((join for join in made if join.order > reversal.order), key=attrgetter("order"))


def outward(edges: Iterable[Edge]) -> list[Edge]:
    """Joins in an order in which they can be reversed, none of them blocked by the rest.

    Later joins go first; but repeats of a composed text go after the join that composed it:
    otherwise the text would live in two memories.
    """
    return sorted(edges, key=lambda edge: (edge.repeats_a_composition, -edge.place))


def _questions_before(
    ledger: Ledger, reversal: Reversal, cause: str, homes: tuple[Memory, ...]
) -> dict[str, Question]:
    """The former questions of candidates that were decided again or closed because of a reversal.

    If a question was first closed and its candidate then decided again, it is the closed one.
    """
    found = dict(ledger.questions.get(cause, {}))
    for candidate_id, closed in ledger.closed.items():
        if closed.order < reversal.order:
            continue
        if closed.cause != cause and not _about(ledger, candidate_id, homes):
            continue
        later = found.get(candidate_id)
        if later is None and ledger.entries[candidate_id].closed:
            found[candidate_id] = closed
        elif later is not None and closed.order < later.order:
            found[candidate_id] = replace(closed, replaced_by=later.replaced_by)
    return found


def _about(ledger: Ledger, candidate_id: str, homes: tuple[Memory, ...]) -> bool:
    """Whether a candidate's question is about a member of one of these memories."""
    asked = ledger.entries[candidate_id].asked
    return any(ledger.entries[neighbour.candidate_id].memory in homes for neighbour in asked)


def _reinstate(ledger: Ledger, request: ReinstateRequest, decision_id: str) -> Reinstate:
    return Reinstate(
        **command_head(request, ledger.owner_id, decision_id),
        decision_id=decision_id,
        rank=request.rank,
        cause=request.request_id,
    )


def take_out(
    ledger: Ledger, request: UnmergeRequest | ReinstateRequest, edge: Edge, consequence_of: str
) -> Unmerge:
    """Reverse a join as a consequence of what the request does to another; separates nothing."""
    return Unmerge(
        **command_head(request, ledger.owner_id, edge.id),
        decision_id=edge.id,
        rank="rule",
        consequence_of=consequence_of,
        cause=request.request_id,
    )


def _asked_again(
    ledger: Ledger,
    request: ReinstateRequest,
    candidate_id: str,
    question: Question,
    policy: Policy,
) -> Redecide:
    asked = tuple(neighbour.candidate_id for neighbour in question.asked)
    return Redecide(
        **command_head(request, ledger.owner_id, candidate_id),
        candidate_id=candidate_id,
        consequence_of=request.decision_id,
        decision=question.decision,
        evidence=Evidence(policy=policy.hash, neighbours=question.asked, asked=asked),
        cause=request.request_id,
    )


def _open(ledger: Ledger, request: Request, edge: Edge) -> bool:
    return edge.standing or _done(ledger, request, edge.id)


def _done(ledger: Ledger, request: Request, target: str) -> bool:
    """Whether a request's command about one target was carried out before."""
    return event_id(event_id(request.request_id, target), "0") in ledger.events


def _unmerge(ledger: Ledger, request: UnmergeRequest | ReverseRequest, decision_id: str) -> Unmerge:
    return Unmerge(
        **command_head(request, ledger.owner_id, decision_id),
        decision_id=decision_id,
        cause=request.request_id,
        rank=request.rank if isinstance(request, UnmergeRequest) else "person",
        verdicts=request.verdicts if isinstance(request, UnmergeRequest) else None,
    )


def reverse_commands(ledger: Ledger, request: ReverseRequest) -> list[Unmerge]:
    """One command per standing join that a selection matches; people's first, then the latest.

    Exact repeats are left out. Joins that the request reversed before a crash are included.
    """
    chosen = [
        edge
        for edge in ledger.edges.values()
        if not edge.exact and _open(ledger, request, edge) and _means_edge(request.selection, edge)
    ]
    chosen.sort(key=lambda edge: (not edge.by_person, -edge.place))
    return [_unmerge(ledger, request, edge.id) for edge in chosen]


def reversed_joins(ledger: Ledger, request: ReinstateManyRequest) -> list[Edge]:
    """The reversed joins of an owner that a selection matches, earliest first.

    Joins reversed as a consequence of another join come back with it. Joins that the request
    reinstated before a crash are included.
    """
    cause = request.selection.cause
    ids = ledger.edges if cause is None else ledger.took.get(cause, ())
    reversed_once = (ledger.edges[id_] for id_ in dict.fromkeys(ids) if id_ in ledger.edges)
    chosen = [
        edge
        for edge in reversed_once
        if _taken_out(request.selection, edge)
        or _done(ledger, reinstate_one(request, edge.id), edge.id)
    ]
    return sorted(chosen, key=attrgetter("place", "order"))


def _taken_out(selection: JoinSelection, edge: Edge) -> bool:
    reversal = edge.reversed_by
    if reversal is None or reversal.consequence_of is not None:
        return False
    return selection.cause in (None, reversal.cause) and _means_edge(selection, edge)


def reinstate_one(request: ReinstateManyRequest, decision_id: str) -> ReinstateRequest:
    """The request about one of many joins; it has the same id if the bulk request is repeated."""
    return ReinstateRequest(
        request_id=event_id(request.request_id, decision_id),
        actor=request.actor,
        because=request.because,
        decision_id=decision_id,
    )


def _means_edge(selection: JoinSelection, edge: Edge) -> bool:
    return (
        _in_time(selection, edge.decided_at)
        and selection.source in (None, edge.newer.fields.source)
        and selection.candidate_id in (None, edge.newer.id)
        and selection.decision in (None, edge.decision)
        and selection.policy in (None, edge.policy)
        and _scores_below(selection.below, edge)
        and (selection.folded is None or edge.folded)
    )


def _scores_below(bound: float | None, edge: Edge) -> bool:
    """Whether a join's score is below the bound; a person's join has none, and never is."""
    return bound is None or (edge.similarity is not None and edge.similarity < bound)


def _in_time(selection: Selection, moment: datetime) -> bool:
    early = selection.since is not None and moment < selection.since
    late = selection.until is not None and moment >= selection.until
    return not (early or late)


def retract_commands(ledger: Ledger, request: RetractRequest) -> list[Retract]:
    """One command for each living candidate of an owner that a selection matches."""
    chosen = _chosen(ledger, request, request.selection, living=True)
    forgets = request.again is not None
    return [
        Retract(
            **command_head(request, ledger.owner_id, FORGET if forgets else entry.id),
            candidate_id=entry.id,
            cause=request.request_id,
            again=request.again,
            earlier=request.earlier,
        )
        for entry in chosen
    ]


def restore_commands(ledger: Ledger, request: RestoreRequest) -> list[Restore]:
    """One command for each retracted candidate that a selection matches or one request forgot."""
    if request.selection is None:
        chosen = [
            entry
            for entry in _hidden_by(ledger, request.forgotten or "")
            if (entry.forgotten is not None and entry.forgotten.cause == request.forgotten)
            or _done(ledger, request, entry.id)
        ]
    else:
        chosen = _chosen(ledger, request, request.selection, living=False)
    return [
        Restore(**command_head(request, ledger.owner_id, entry.id), candidate_id=entry.id)
        for entry in chosen
    ]


def _hidden_by(ledger: Ledger, cause: str) -> list[Entry]:
    """The candidates that a request ever hid, by arrival."""
    ids = dict.fromkeys(ledger.took.get(cause, ()))
    hidden = (ledger.entries[id_] for id_ in ids if id_ in ledger.entries)
    return sorted(hidden, key=attrgetter("place"))


def _chosen(ledger: Ledger, request: Request, selection: Selection, *, living: bool) -> list[Entry]:
    within: Iterable[Entry] = ledger.entries.values()
    if selection.candidate_id is not None:
        named = ledger.entries.get(selection.candidate_id)
        within = [] if named is None else [named]
    elif selection.cause is not None:
        within = _hidden_by(ledger, selection.cause)
    return [
        entry
        for entry in within
        if (entry.living is living and _means_candidate(selection, entry, ledger))
        or _done(ledger, request, entry.id)
    ]


def _means_candidate(selection: Selection, entry: Entry, ledger: Ledger) -> bool:
    hidden = entry.forgotten or ledger.retractions.get(entry.id)
    return (
        selection.cause in (None, hidden.cause if hidden is not None else None)
        and _in_time(selection, entry.decided_at)
        and selection.source in (None, entry.fields.source)
        and selection.candidate_id in (None, entry.id)
        and selection.decision in (None, entry.decision)
    )
