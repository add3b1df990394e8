"""Updates, which change the text of a memory, and undoing them (docs/intent.md)."""

from __future__ import annotations

from msgspec import structs

from palimpsest.contracts.answers import Undone, Updated
from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import Undo, Update
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Content, Decided, Joined
from palimpsest.contracts.identity import candidate_id, decision_id_of, event_id
from palimpsest.contracts.requests import UndoRequest, UpdateRequest, command_head
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.exact import verbatim_target
from palimpsest.streams.core.graph import joins_of_update, last_update
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.picture import pictures
from palimpsest.streams.core.text import content_of, verbatim_hash
from palimpsest.streams.core.version import version_of
from palimpsest.streams.intake.meaning import prepare
from palimpsest.streams.write.executor import (
    Executor,
    owner_of_candidate,
    owner_of_decision,
    require_owner,
)
from palimpsest.streams.write.handlers.unmerge import as_found


def update(executor: Executor, request: UpdateRequest) -> Updated:
    """Change the text of a memory; a repeated request gets its first answer.

    The same text as before changes nothing. Raises RefusedError if the update is impossible.
    """
    owner_id = owner_of_candidate(executor, request.memory_id)
    require_owner(owner_id, request.owner_id, request.memory_id)
    newcomer = candidate_id(owner_id, request.source, request.request_id)
    command_id = event_id(request.request_id, request.memory_id)
    first = _first(executor, decision_id_of(newcomer), event_id(command_id, "0"))
    if first is not None:
        executor = as_found(executor, first)
    return _change(executor, request, owner_id)


def _first(executor: Executor, *events: str) -> Recorded | None:
    """The event that shows that a request was carried out before, if it was."""
    return next((found for event in events if (found := executor.log.find(event))), None)


def _change(executor: Executor, request: UpdateRequest, owner_id: str) -> Updated:
    ledger = executor.ledger(owner_id)
    entry = ledger.entries[request.memory_id]
    before, face = version_of(entry.memory), entry.memory.face
    home = _home_of(request.text, ledger, entry)
    try:
        events = executor.run(executor.compared(_command(executor, ledger, request, entry)))
    except RefusedError as error:
        if error.reason != "unchanged":
            raise
        events = []
    decided = next((event for event in events if isinstance(event, Decided)), None)
    joined = [event for event in events if isinstance(event, Decided | Joined)]
    memory = entry.memory
    return {
        "changed": bool(joined),
        "decision_id": joined[-1].id if joined else None,
        "candidate_id": decided.subject if decided else memory.face.speaker.id,
        "displaced": {"candidate_id": face.speaker.id, "text": face.text} if joined else None,
        "merged": home,
        "was": before,
        "version": version_of(memory),
        "memories": pictures([entry]),
        "events": [join.id for join in joined],
    }


def _home_of(text: str, ledger: Ledger, entry: Entry) -> str | None:
    """Another living memory of the scope that has this text already."""
    found = verbatim_target(ledger, entry.fields.namespace, content_of(text))
    if found is None or not found.living or found.memory is entry.memory:
        return None
    return found.memory.id


def _command(executor: Executor, ledger: Ledger, request: UpdateRequest, entry: Entry) -> Update:
    """The command that adds the text as a candidate of the memory's scope."""
    # Fields that the request does not have are copied from the candidate that spoke until now.
    was = entry.memory.face.speaker.fields
    prepared = prepare(
        Candidate(
            owner_id=was.owner_id,
            source=request.source,
            id=request.request_id,
            text=request.text,
            namespace=was.namespace,
            session_id=request.session_id,
            occurred_at=request.occurred_at,
            category=was.category,
            kind=was.kind,
            confidence=was.confidence,
            importance=was.importance,
            intensity=was.intensity,
            topics=was.topics,
            metadata=was.metadata if request.metadata is None else request.metadata,
            expires_at=entry.memory.expires_at,
        )
    )
    content = _content(executor, ledger, request, entry)
    return Update(
        **command_head(request, ledger.owner_id, request.memory_id),
        memory=request.memory_id,
        candidate_id=prepared.candidate_id,
        candidate=prepared.candidate,
        content=structs.replace(content, fingerprint=prepared.fingerprint),
        down=("embedder",) if content.vector is None else None,
        expect=request.expect,
        merge=request.merge or request.dry_run,
        rank=request.rank,
        cause=request.request_id,
    )


def _content(executor: Executor, ledger: Ledger, request: UpdateRequest, entry: Entry) -> Content:
    """The text, with a vector unless the scope has the text already."""
    distinct = ledger.distinct(entry.fields.namespace, verbatim_hash(request.text))
    if distinct is None or distinct.over or not distinct.members:
        return executor.new_text(request.text)
    return content_of(request.text)


# -- undoing -------------------------------------------------------------------------------------


def undo(executor: Executor, request: UndoRequest) -> Undone:
    """Undo an update; a repeated request gets its first answer.

    Raises RefusedError if the request names no standing update, or it cannot be undone.
    """
    owner_id = (
        owner_of_decision(executor, request.decision_id)
        if request.decision_id is not None
        else owner_of_candidate(executor, request.candidate_id or "")
    )
    target = request.decision_id or request.candidate_id or ""
    require_owner(owner_id, request.owner_id, target)
    first = _first(executor, event_id(event_id(request.request_id, target), "0"))
    if first is not None:
        executor = as_found(executor, first)
    ledger = executor.ledger(owner_id)
    edge = _update_named(ledger, request)
    command = Undo(
        **command_head(request, owner_id, target),
        decision_id=edge.id,
        rank=request.rank,
        cause=request.request_id,
    )
    joins = [join for join in joins_of_update(edge) if join.standing] or [edge]
    return _describe_undo(edge, joins, executor.run(command))


def _describe_undo(edge: Edge, joins: list[Edge], events: list[AnyEvent]) -> Undone:
    brought = edge.winner
    kept = [join.other(brought) for join in reversed(joins)]
    left = [] if brought.memory in [entry.memory for entry in kept] else [brought.memory]
    return {
        "decision_id": edge.id,
        "candidate_id": next(
            (brought.id for join in joins if join.id == brought.decision_id), None
        ),
        "version": version_of(kept[0].memory),
        "former": [memory.id for memory in left if memory.living and memory.former],
        "memories": pictures([*kept, brought]),
        "events": [event.id for event in events],
    }


def _update_named(ledger: Ledger, request: UndoRequest) -> Edge:
    """The update that a request names. Raises RefusedError if it names none."""
    if request.decision_id is not None:
        edge = ledger.edges.get(request.decision_id)
    else:
        entry = ledger.entries[request.candidate_id or ""]
        own = ledger.edges.get(entry.decision_id)
        edge = own if own is not None and own.over is not None else last_update(entry.memory)
    if edge is None or edge.over is None:
        raise RefusedError(
            "no_update", "no update with this id stands; to undo a join, name its decision"
        )
    return edge
