"""Updates, which change the text of a memory, and undoing them (docs/design.md).

Every update joins what spoke before the first of them, so that any of them can be undone.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from msgspec import structs

from palimpsest.contracts.commands import Retract, Undo, Update
from palimpsest.contracts.events import (
    RANKS,
    AnyEvent,
    Decided,
    DecidedData,
    Join,
    Joined,
    JoinedData,
    OnCandidateData,
    Rank,
    Retracted,
    Reversed,
    ReversedData,
)
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import decision_id_of
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.admit import rule_of_again
from palimpsest.streams.core.checks import in_reach
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.exact import forgotten_text, forgotten_words
from palimpsest.streams.core.graph import anchor, joins_of_update, smaller_side, update_of
from palimpsest.streams.core.ledger import Distinct, Edge, Entry, Ledger, Memory
from palimpsest.streams.core.moment import expiry_of, happened
from palimpsest.streams.core.neighbour_lookup import similarity
from palimpsest.streams.core.operate import (
    TWO_HOMES,
    Result,
    conflict,
    face_elsewhere,
    seen_as,
    text_lives_twice,
)
from palimpsest.streams.core.refusal import Refusal, a_rank, unknown_candidate, unknown_decision
from palimpsest.streams.core.separations import statement_on
from palimpsest.streams.core.text import identity_of
from palimpsest.streams.core.version import version_of

CHECK = "update"
"""The check that the evidence of an update names, although no rule checked anything."""


def update(command: Update, ledger: Ledger, policy: Policy, now: datetime) -> Result:
    """`decided`: the text joins the memory and speaks. If another memory has it, the two join.

    Then there is only a `joined` event if that memory shows the text, else one after the `decided`.
    No event if the command's candidate is known. An agent may not state a forgotten text again.
    """
    if command.candidate_id in ledger.entries:
        return []
    target = ledger.entries.get(command.memory)
    if target is None:
        return unknown_candidate(command.memory)
    memory, text_hash = target.memory, identity_of(command.content)
    distinct = ledger.distinct(memory.namespace, text_hash)
    refusal = _refusal(command, memory, distinct.said if distinct else text_hash)
    if refusal is not None:
        return refusal
    home = _home(distinct)
    lives = home is not None and home.living
    gone = None if lives else forgotten_text(ledger, memory.namespace, command.content)
    rule = rule_of_again(gone, command.candidate.occurred_at) if gone else "allow"
    if rule != "allow" and command.rank == "agent":
        return Refusal("forgotten", "this text was forgotten: only a person may state it again")
    if command.rank == "agent" and _rewords(command, ledger, memory, policy):
        return Refusal(
            "forgotten", "this rewords a forgotten text: only a person may state it again"
        )
    if home is None or home.memory is memory:
        return [_admitted(command, ledger, memory, policy, now)]
    refusal = _hindrance(command, ledger, memory, home)
    if refusal is not None:
        return refusal
    if home.memory.face.hash == text_hash:
        newer = home.place > anchor(memory).place
        return [_joined(command, memory, home.id, now, newer=newer, step=0)]
    newcomer = _admitted(command, ledger, home.memory, policy, now)
    return [newcomer, _joined(command, memory, newcomer.subject, now, newer=True, step=1)]


def _refusal(command: Update, memory: Memory, said: str) -> Refusal | None:
    """Why a memory cannot be changed to this text now, wherever the text may live."""
    face = memory.face
    if not memory.living:
        return Refusal("not_living", f"memory {memory.id} is retracted: restore it first")
    if not memory.current:
        return Refusal("expired", f"memory {memory.id} has expired: pin it first")
    if face.hash == identity_of(command.content):
        return Refusal("unchanged", f"memory {memory.id} says so already")
    expected = (None, face.speaker.id, face.voice, version_of(memory))
    if command.expect not in expected:
        return Refusal("moved_on", f"memory {memory.id} has moved on: it is another version now")
    higher = _displaced_by_higher(memory, said, command.rank)
    if higher is not None:
        return Refusal("outranked", f"{a_rank(higher)} said that the memory no longer says this")
    return None


def _rewords(command: Update, ledger: Ledger, memory: Memory, policy: Policy) -> bool:
    """Whether the text is nearer to a forgotten one than to the memory that it changes.

    A text that differs only in punctuation counts as nearest.
    """
    if forgotten_words(ledger, memory.namespace, command.content.text):
        return True
    near = [
        neighbour
        for neighbour in command.neighbours
        if ledger.entries[neighbour.candidate_id].memory is memory
    ]
    own = max(map(similarity, near), default=0.0)
    return any(
        similarity(gone) > own and in_reach(policy, ledger, command, gone)
        for gone in command.forgotten
    )


def _displaced_by_higher(memory: Memory, said: str, rank: Rank) -> Rank | None:
    """The higher rank that displaced a text, if any: only that rank may bring it back."""
    if said not in memory.face.former:
        return None
    ranks = [
        edge.rank
        for edge in memory.edges()
        if edge.former and (edge.over is None or edge.over.distinct.said == said)
    ]
    highest = max(ranks, key=lambda rank: RANKS[rank], default=rank)
    return highest if RANKS[highest] > RANKS[rank] else None


def _home(distinct: Distinct | None) -> Entry | None:
    """The candidate that already has the text: a living one, or the source of a composed text."""
    if distinct is None or distinct.over:
        return None
    alias = None if distinct.members else distinct.alias
    if alias is not None and alias.forgotten is not None:
        alias = None
    return distinct.lives_outside(()) or alias


def _hindrance(command: Update, ledger: Ledger, memory: Memory, home: Entry) -> Refusal | None:
    """Why the memory cannot be joined with the one that has the text; None if it can."""
    if not command.merge:
        return Refusal(
            "lives_elsewhere",
            f"memory {home.memory.id} has this text, so the update would merge the two: a dry run"
            " shows the result, and `merge` allows it",
        )
    if not home.living:
        return Refusal("not_living", f"candidate {home.id} has this text, but is retracted")
    return conflict(ledger, anchor(memory), home, rank="rule")


def _admitted(
    command: Update, ledger: Ledger, memory: Memory, policy: Policy, now: datetime
) -> Decided:
    """The text as a newcomer that joins the memory and takes the face."""
    distinct = ledger.distinct(memory.namespace, identity_of(command.content))
    known = distinct is not None and bool(distinct.members) and not distinct.over
    content = structs.replace(command.content, vector=None) if known else command.content
    data = DecidedData(
        decision="superseded",
        candidate=command.candidate.fields(),
        content=content,
        join=Join(to=anchor(memory).id, face="take", former=True, over=memory.face.speaker.id),
        evidence=Evidence(policy=policy.hash, check=CHECK, down=None if known else command.down),
        moment=happened(command.candidate.occurred_at, now),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        cause=command.cause,
        expires_at=expiry_of(command.candidate, policy, now),
    )
    return Decided(
        id=decision_id_of(command.candidate_id),
        subject=command.candidate_id,
        time=now,
        partitionkey=command.owner_id,
        data=data,
    )


def _joined(
    command: Update, memory: Memory, brings: str, now: datetime, *, newer: bool, step: int
) -> Joined:
    """The join of the memory with the candidate `brings`, whose text then speaks."""
    updated = anchor(memory).id
    newer_id, older_id = (brings, updated) if newer else (updated, brings)
    data = JoinedData(
        decision="manual_join",
        candidate_id=newer_id,
        join=Join(
            to=older_id,
            face="take" if newer else "keep",
            former=True,
            over=memory.face.speaker.id,
        ),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        cause=command.cause,
    )
    return Joined(**head(command, newer_id, now, step), data=data)


# -- taken back ----------------------------------------------------------------------------------


def undo(command: Undo, ledger: Ledger, now: datetime) -> Result:
    """`retracted` and `reversed`: retracts the update's text and separates nothing.

    Candidates that had joined the text leave with it, as a memory of their own; other joins stay.
    """
    edge = ledger.edges.get(command.decision_id)
    if edge is None:
        return unknown_decision(command.decision_id)
    if edge.over is None:
        return Refusal("no_update", f"decision {edge.id} is not an update: un-merge it instead")
    if not edge.standing:
        return Refusal("not_standing", f"decision {edge.id} is reversed already")
    for join in joins_of_update(edge):
        stated = statement_on(ledger, join.newer.id, join.older.id)
        said = [join.rank] + ([] if stated is None or stated.separated else [stated.rank])
        highest = max(said, key=lambda rank: RANKS[rank])
        if RANKS[highest] > RANKS[command.rank]:
            return Refusal("outranked", f"{a_rank(highest)} made this update, or confirmed it")
    return _taken_back(command, ledger, edge, command.rank, command.cause, now)


def retract(command: Retract, ledger: Ledger, now: datetime) -> Result:
    """`retracted`: hides a candidate; its joins stay, but the update that brought it is undone.

    The update is not undone if a text would then live in two memories.
    """
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return unknown_candidate(command.candidate_id)
    if not entry.living:
        return Refusal("retracted_already", f"candidate {entry.id} is retracted")
    edge = update_of(entry)
    if edge is not None and command.again is None:
        undone = _taken_back(command, ledger, edge, "person", command.cause, now)
        if not isinstance(undone, Refusal):
            return undone
    twin = seen_as(entry, partial(_face_elsewhere, ledger, entry.memory), living=False)
    if twin is not None:
        return Refusal(
            "same_text",
            "the memory would show a composed text that lives in another memory, as candidate"
            f" {twin.id}: merge the two, or retract that candidate first",
        )
    hidden = _retracted(command, entry, command.cause, now)
    data = structs.replace(hidden.data, again=command.again, earlier=command.earlier)
    return [structs.replace(hidden, data=data)]


def _face_elsewhere(ledger: Ledger, memory: Memory) -> Entry | None:
    """Another candidate with the composed text that speaks for a living memory."""
    if not (memory.texted and memory.living):
        return None
    return face_elsewhere(ledger, memory.members, memory.edges())


def _retracted(
    command: Undo | Retract, entry: Entry, cause: str | None, now: datetime
) -> Retracted:
    data = OnCandidateData(
        candidate_id=entry.id, actor=command.actor, because=command.because, cause=cause
    )
    return Retracted(**head(command, entry.id, now), data=data)


def _taken_back(
    command: Undo | Retract,
    ledger: Ledger,
    edge: Edge,
    rank: Rank,
    cause: str | None,
    now: datetime,
) -> Result:
    joins = [join for join in joins_of_update(edge) if join.standing]
    newcomer = edge.winner if any(join.id == edge.winner.decision_id for join in joins) else None
    for join in joins:
        twice = partial(text_lives_twice, ledger, join, smaller_side(join))
        if seen_as(newcomer, twice, living=False):
            return TWO_HOMES
    events: list[AnyEvent] = []
    if newcomer is not None and newcomer.living:
        events.append(_retracted(command, newcomer, cause, now))
    for join in joins:
        data = ReversedData(
            decision_id=join.id,
            candidate_id=join.newer.id,
            joined_to=join.older.id,
            separates=False,
            rank=rank,
            actor=command.actor,
            because=command.because,
            cause=cause,
            withdraws=True,
        )
        events.append(Reversed(**head(command, join.id, now, len(events)), data=data))
    return events
