"""Finds the request that undoes or redoes what an id names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import takewhile
from typing import Any, Literal, NoReturn, TypeVar, cast
from uuid import UUID

from palimpsest.backends.reader import Reader
from palimpsest.contracts.answers import Done, result
from palimpsest.contracts.errors import RefusedError, no_such_id
from palimpsest.contracts.events import (
    RANKS,
    Accessed,
    AnyEvent,
    AuditLabelled,
    AuditOpened,
    Certified,
    Compacted,
    Composed,
    Confirmed,
    Decided,
    Embedded,
    Erased,
    ExpirySet,
    Invalid,
    Joined,
    JudgeSet,
    NamesSet,
    PolicySet,
    Ran,
    Rank,
    Redecided,
    Refused,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    SessionEnded,
    Settled,
    Speaker,
    Unchanged,
)
from palimpsest.contracts.identity import decision_id_of, decision_id_or_unchanged
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import (
    JoinSelection,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    Selection,
    SeparateRequest,
    SetExpiryRequest,
    UndoRequest,
    UnmergeRequest,
    WithdrawRequest,
)
from palimpsest.queries.ids import bare, require_owned
from palimpsest.streams.core.expand import unmerge_commands
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.operate import withdrawn_by
from palimpsest.streams.core.separations import separation, statement_on
from palimpsest.streams.write.answered import answer_of, digest_of

Way = Literal["undo", "redo"]
Answer = TypeVar("Answer")
Some = TypeVar("Some", Reinstated, Restored)
AboutJoins = TypeVar("AboutJoins", UnmergeRequest, ReinstateRequest)

OF_ANOTHER = "another agent forgot it: only that one or a person can bring it back"
OF_A_PERSON = "a person stated this, and only a person can take it back"
"""Why an agent may not undo something."""

_NOTHING = "it changed no memory: there is nothing to undo"
INSTEAD: Mapping[type[AnyEvent], str] = {
    Confirmed: "a confirmation changed no memory: `unmerge` its decision if it is wrong",
    NamesSet: "names are not undone: set the former ones again with `names`",
    PolicySet: "a policy is not undone: set the former one again with `policy set`",
    JudgeSet: "a judge is not undone: set the former one again in [judge]",
    AuditLabelled: "a label is not undone: label the pair again, and the later label counts",
    Ran: "a batch run is undone by its joins: `reverse` with `since` and `until`, or one by one",
    SessionEnded: "the end of a session stands: `undo` the joins that it led to, one by one",
    Compacted: "a compaction stands: the session's later memories are not affected",
    Composed: "a composed text belongs to a join: `undo` the join",
    Accessed: "a use stands: it changed no text and no join",
    AuditOpened: "an audit is not undone: open another one",
    Certified: "a certificate is not undone: label more pairs and certify again",
    Invalid: "the row was not stored: correct it and submit it again",
    Embedded: _NOTHING,
    Refused: _NOTHING,
    Unchanged: _NOTHING,
    Erased: "what was erased is gone",
}
"""What to do instead, for each kind of event that no request undoes."""


def request_for(
    reader: Reader,
    way: Way,
    some_id: str,
    *,
    by: Speaker | None,
    owner_id: str | None = None,
    actor: str | None = None,
    because: str | None = None,
) -> Request[Any]:
    """The request that undoes what an id names, or redoes what was undone.

    Without `by`, the request is a person's if only a person may make it, else an agent's.

    The id is looked up among decisions and other events, then among requests, then among
    candidates. The id of a candidate or a memory names its last update, or its retraction. Raises
    RefusedError if the id is unknown or another owner's, if no request does it (`not_undoable`,
    with what to do instead), if a redo finds nothing undone (`not_undone`), or if only a person
    may do it (`outranked`).
    """

    def naming(owner: str) -> _Naming:
        return _Naming(reader, owner, by, actor, because)

    some_id = bare(reader, some_id)
    event = _recorded(reader, way, some_id)
    if event is None:
        entry = _candidate(reader, owner_id, some_id)
        fields = naming(entry.fields.owner_id)
        request = fields.undo_last(entry) if way == "undo" else fields.redo_last(entry)
    else:
        owner = owner_id or _owner_of(reader, event, some_id)
        fields = naming(owner)
        hides = way == "undo" and not isinstance(event, Reinstated)
        whole = fields.undo_whole(some_id, owner_id) if hides else None
        if hides and whole is None and owner_id is None:
            others = map(naming, _owners_of(reader, some_id))
            whole = next(filter(None, (one.undo_whole(some_id, None) for one in others)), None)
        if whole is None and owner != event.owner_id:
            _unknown(some_id)
        request = whole or (fields.undo(event) if way == "undo" else fields.redo(event))
    if by == "agent":
        _require_agent_may_ask(reader, request, actor)
    return request


def offered(reader: Reader, answer: Answer, owner_id: str, actor: str | None) -> Answer:
    """An agent's answer without an `undo` that the agent could not use, nor in its `events`."""

    @cache  # a request may have hidden thousands
    def usable(undo: str) -> bool:
        try:
            request_for(reader, "undo", undo, by="agent", owner_id=owner_id, actor=actor)
        except RefusedError as refused:
            return refused.reason not in ("outranked", "not_undoable")
        return True

    def seen(said: Any) -> Any:
        if not isinstance(said, dict) or "undo" not in said:
            return said
        if said.get("rank") != "person" and usable(said["undo"]):
            return said
        return {name: value for name, value in said.items() if name != "undo"}

    shown: Any = answer
    if isinstance(shown, dict) and isinstance(shown.get("events"), list):
        shown = {**shown, "events": [*map(seen, shown["events"])]}
    return cast("Answer", seen(shown))


def escalated(reader: Reader, request: AboutJoins) -> AboutJoins:
    """An agent's request, made a person's if a person spoke last about the named pairs.

    That person, who used `merge`, `confirm` or `separate`, may be the caller. `asked` is the digest
    of the agent's request, so that a repeat gets the first answer, whatever rank it needs by then.
    """
    named = request.decision_id
    if isinstance(request, UnmergeRequest):
        named = named or decision_id_or_unchanged(request.candidate_id or request.memory_id or "")
    owner = reader.log.owner_of(named or "")
    if owner is None:
        return request  # it will be refused
    ledger = reader.ledger(owner)
    if isinstance(request, UnmergeRequest):
        ids = [command.decision_id for command in unmerge_commands(ledger, request)]
    else:
        ids = [request.decision_id]
    joins = [ledger.edges[some_id] for some_id in ids if some_id in ledger.edges]
    if _last_speaker(ledger, joins) == "agent":
        return request
    return request.model_copy(update={"rank": "person", "asked": digest_of(request)})


def _last_speaker(ledger: Ledger, joins: Iterable[Edge]) -> Speaker:
    """`person` if a person spoke last about a join's pair, or took the join out; else `agent`."""
    ranks: list[Rank] = ["agent"]
    for join in joins:
        if (stated := statement_on(ledger, join.newer.id, join.older.id)) is not None:
            ranks.append(stated.rank)
        if join.reversed_by is not None:
            ranks.append(join.reversed_by.rank)
    return "person" if max(map(RANKS.__getitem__, ranks)) > RANKS["agent"] else "agent"


def _recorded(reader: Reader, way: Way, some_id: str) -> AnyEvent | None:
    """The event with an id, or the one that a request is about; None if it is neither.

    RefusedError if several things would have to be undone, or done again, one by one.
    """
    try:
        UUID(some_id)
    except ValueError:
        return None
    if (found := reader.log.find(some_id)) is not None:
        return found.event
    recorded = reader.log.of_request(some_id)
    if not recorded:
        return None
    # A cluster's partitions answer one by one: some may have had nothing to do, or refused.
    events = [one.event for one in recorded]
    event = next((one for one in events if not isinstance(one, Refused | Unchanged)), events[0])
    if isinstance(event, Joined | Restored | Reinstated | Reversed | Redecided | Retracted):
        match way, result(answer_of(reader.log, recorded, with_texts=False)):
            case (
                "undo",
                {"reinstated": _, "decision_id": decision_id} | {"reinstated": [decision_id]},
            ):
                return _reinstatement(reader, some_id, decision_id)
            case "undo", {"restored": [_, _, *_] as back} | {"reinstated": [_, _, *_] as back}:
                raise RefusedError(
                    "not_undoable",
                    f"it brought {len(back):,} back: `undo` each, or `reverse` or `retract` them by"
                    " a selection",
                )
            case "undo", {"restored": [back]} if isinstance(event, Joined):
                restored = next(_events_since(reader, some_id, event.owner_id, Restored))
                raise RefusedError(
                    "not_undoable",
                    f"it restored {back}, and joined it to a candidate with its text: `undo`"
                    f" {restored.id}, then `withdraw` the merge",
                )
            case "redo", {"retracted": [_, _, *_] as out} | {"reversed": [_, _, *_] as out}:
                raise RefusedError(
                    "not_undoable",
                    f"it took {len(out):,} out: give the same command again, or `redo` each by its"
                    " event",
                )
            case _:
                pass
    return event


def _candidate(reader: Reader, owner_id: str | None, candidate_id: str) -> Entry:
    """The candidate with an id; RefusedError if it is unknown or another owner's."""
    require_owned(reader, owner_id, candidate_id)
    known = reader.log.owner_of(_decision_of(candidate_id))
    entry = None if known is None else reader.ledger(known).entries.get(candidate_id)
    if entry is None:
        _unknown(candidate_id)
    return entry


def _owner_of(reader: Reader, event: AnyEvent, request_id: str) -> str:
    """The owner of a request's event; for a large request, any one of the owners it is about.

    A large request was committed in parts, so its answer is recorded apart from its events.
    """
    if event.owner_id or not isinstance(event, Unchanged):
        return event.owner_id
    return next(_owners_of(reader, request_id), "")


def _owners_of(reader: Reader, request_id: str) -> Iterator[str]:
    """The owners about whom a request hid or un-merged something, each once."""
    recorded = reader.log.of_request(request_id)
    answer = answer_of(reader.log, recorded, with_texts=False) if recorded else None
    match answer:
        case Done({"reversed": list(ids)} | {"retracted": list(ids)}):
            named = (
                reader.log.owner_of(one) or reader.log.owner_of(decision_id_of(one)) for one in ids
            )
            yield from filter(None, dict.fromkeys(named))
        case _:
            return


def _reinstatement(reader: Reader, request_id: str, decision_id: str) -> AnyEvent:
    """The event by which a request brought a join back, after it took the consequences back."""
    owner = reader.log.owner_of(decision_id)
    assert owner is not None, "a join that came back was recorded"
    later = _events_since(reader, request_id, owner, Reinstated)
    return next(event for event in later if event.data.decision_id == decision_id)


def _events_since(
    reader: Reader, request_id: str, owner_id: str, kind: type[Some]
) -> Iterator[Some]:
    """An owner's events of a kind from a request's first event on."""
    first = reader.log.of_request(request_id)[0].position
    later = reader.log.of_owner(owner_id, after=first - 1, chunk=8)
    return (one.event for one in later if isinstance(one.event, kind))


def _decision_of(candidate_id: str) -> str:
    try:
        return decision_id_of(candidate_id)
    except ValueError:
        _unknown(candidate_id)


def _unknown(some_id: str) -> NoReturn:
    raise RefusedError(
        "unknown_candidate",
        f"{no_such_id(some_id)}, and an answer shows that of its request (`cause`, `forgotten`)",
    )


def _not_undone(what: str) -> NoReturn:
    raise RefusedError("not_undone", f"{what}: there is nothing to do again")


def _require_agent_may_ask(reader: Reader, request: Request[Any], actor: str | None) -> None:
    """RefusedError (`outranked`) unless an agent may make this request."""
    if isinstance(request, UndoRequest | UnmergeRequest | ReinstateRequest | SetExpiryRequest):
        return  # they carry the agent's rank: the core compares it
    if isinstance(request, RestoreRequest) and request.forgotten is not None:
        forgetting = reader.log.of_request(request.forgotten)[0].event
        if isinstance(forgetting, Retracted):
            data = forgetting.data
            if (data.speaker, data.actor) == ("agent", actor):
                return
            if data.speaker == "agent":
                raise RefusedError("outranked", OF_ANOTHER)
    raise RefusedError("outranked", OF_A_PERSON)


class _Naming:
    """Builds requests about one owner's events, in the name of the person or agent who asks."""

    def __init__(
        self,
        reader: Reader,
        owner_id: str,
        by: Speaker | None,
        actor: str | None,
        because: str | None,
    ) -> None:
        self.ledger = reader.ledger(owner_id)
        self._reader, self._log = reader, reader.log
        self.said: dict[str, Any] = {
            "request_id": request_id(),
            "actor": actor,
            "because": because,
        }
        self._by = by

    def undo(self, event: AnyEvent) -> Request[Any]:
        """The request that undoes an event in the current state.

        What was done as a consequence of a reversal is undone with that reversal.
        """
        because_of = self.ledger.edges.get(getattr(event.data, "consequence_of", None) or "")
        if because_of is not None and not because_of.standing:
            return self._reinstating(because_of.id)
        match event:
            case Decided() | Settled() | Joined() | Redecided():
                return self._taking_out(self.ledger.edges.get(event.id))
            case Reinstated():
                edge = self.ledger.edges.get(event.data.decision_id)
                if edge is not None and edge.standing and self._was_withdrawn(event):
                    return self._withdrawing(edge)
                if edge is None or edge.over is None or self._restored_with(event):
                    return self._taking_out(edge)
                return self._unmerging(edge)
            case Reversed():
                if event.data.decision_id in self.ledger.edges:
                    return self._reinstating(event.data.decision_id)
                return SeparateRequest(
                    a=event.data.joined_to, b=event.data.candidate_id, **self.said
                )
            case Separated():
                a, b = self._pair(event)
                holds = separation(self.ledger, a, b)
                if holds is None:
                    raise RefusedError("not_undoable", "the two are not separated now")
                if holds.event_id != event.id:
                    raise RefusedError(
                        "not_undoable",
                        f"a later statement separates the two: `undo` {holds.event_id}",
                    )
                return WithdrawRequest(a=a.id, b=b.id, **self.said)
            case Retracted(data=data):
                self._require_not_forgotten(event.subject, other_than=data.cause)
                return self._bringing_back(self.ledger.entries[event.subject])
            case Restored():
                return self._hiding_again(event)
            case ExpirySet(data=data):
                return self._setting_expiry(data.candidate_id, data.expires_at, data.was)
            case _:
                raise RefusedError("not_undoable", INSTEAD[type(event)])

    def undo_whole(self, cause: str, owner_id: str | None) -> Request[Any] | None:
        """The request that undoes everything a request hid or un-merged; None if it did neither.

        Without `owner_id` the new request covers all owners. An agent brings back one join at a
        time, by its own rank.
        """
        if any(one.cause == cause for one in self.ledger.retractions.values()):
            chosen = Selection(owner_id=owner_id, cause=cause)
            return RestoreRequest(selection=chosen, **self.said)
        reversals = ((edge, edge.reversed_by) for edge in self.ledger.edges.values())
        out = [(edge, one) for edge, one in reversals if one is not None and one.cause == cause]
        named = [edge for edge, one in out if one.consequence_of is None]
        by = self._by or ("person" if len(named) > 1 else _last_speaker(self.ledger, named))
        if out and by == "person":
            joins = JoinSelection(owner_id=owner_id, cause=cause)
            return ReinstateManyRequest(selection=joins, **self.said)
        if len(named) > 1:
            raise RefusedError(
                "not_undoable", "it reversed several joins: `undo` each by its event"
            )
        return self._reinstating(named[0].id) if named else None

    def redo(self, event: AnyEvent) -> Request[Any]:
        """The request that redoes what an event did, after that was undone."""
        match event:
            case Decided() | Settled() | Joined() | Redecided() if event.id in self.ledger.edges:
                return self._reinstating(event.id)
            case Reversed(data=data) if edge := self.ledger.edges.get(data.decision_id):
                if data.is_withdrawal:
                    return self._withdrawing(edge)
                return self._taking_out(edge) if data.withdraws else self._unmerging(edge)
            case Reinstated():
                return self._reinstating(event.data.decision_id)
            case Separated():
                a, b = self._pair(event)
                if separation(self.ledger, a, b) is not None:
                    _not_undone("the two are separated")
                return SeparateRequest(a=a.id, b=b.id, **self.said)
            case Retracted():
                return self._retracting_again(event)
            case Restored():
                entry = self.ledger.entries[event.subject]
                self._require_not_forgotten(entry.id, other_than=self._hidden_again_by(entry))
                return self._bringing_back(entry)
            case ExpirySet(data=data):
                return self._setting_expiry(data.candidate_id, data.was, data.expires_at)
            case _:
                detail = "this cannot be done again: `redo` takes the id of what `undo` took back"
                raise RefusedError("not_undoable", detail)

    def undo_last(self, entry: Entry) -> Request[Any]:
        """The request that undoes a candidate's hiding, or else its memory's last update."""
        hidden = entry.forgotten is not None or entry.id in self.ledger.retractions
        if hidden and not entry.living:
            return self._bringing_back(entry)
        return self._of_update(candidate_id=entry.id)

    def redo_last(self, entry: Entry) -> Request[Any]:
        """The request that redoes the update that brought a candidate."""
        undone = next((edge for edge in entry.edges if withdrawn_by(edge) is entry), None)
        if undone is None:
            raise RefusedError("not_undone", "no update with this candidate was undone")
        return self._reinstating(undone.id)

    def _taking_out(self, edge: Edge | None) -> Request[Any]:
        if edge is None:
            raise RefusedError(
                "no_update", "this decision joined nothing: `forget` or `retract` hides the text"
            )
        if edge.over is not None:
            return self._of_update(decision_id=edge.id)
        return self._unmerging(edge)

    def _unmerging(self, edge: Edge) -> UnmergeRequest:
        by = self._by or _last_speaker(self.ledger, [edge])
        return UnmergeRequest(decision_id=edge.id, with_consequences=True, rank=by, **self.said)

    def _withdrawing(self, merge: Edge) -> WithdrawRequest:
        """Withdraws a merge that stands: otherwise an earlier statement would be withdrawn."""
        if not merge.standing:
            _not_undone("the merge is withdrawn")
        return WithdrawRequest(a=merge.older.id, b=merge.newer.id, **self.said)

    def _was_withdrawn(self, event: Reinstated) -> bool:
        """Whether the reversal that was taken back had withdrawn a merge, and separated nothing."""
        found = self._log.find(event.id)
        assert found is not None, "the event was found by its id"
        cuts = [
            one.event.data
            for one in self._reader.events_about(
                event.owner_id, [event.data.decision_id], found.position
            )
            if isinstance(one.event, Reversed)
            and one.event.data.decision_id == event.data.decision_id
        ]
        return cuts[-1].is_withdrawal

    def _restored_with(self, event: Reinstated) -> bool:
        """Whether an update's text came back with its join: undoing had withdrawn both."""
        found = self._log.find(event.id)
        assert found is not None, "the event was found by its id"
        behind = self._log.of_owner(event.owner_id, after=found.position, chunk=8)
        with_it = takewhile(
            lambda one: getattr(one.event.data, "cause", None) == event.data.cause, behind
        )
        return any(isinstance(one.event, Restored) for one in with_it)

    def _of_update(
        self, *, decision_id: str | None = None, candidate_id: str | None = None
    ) -> UndoRequest:
        return UndoRequest(
            decision_id=decision_id,
            candidate_id=candidate_id,
            owner_id=self.ledger.owner_id,
            rank=self._by or "agent",
            **self.said,
        )

    def _reinstating(self, decision_id: str) -> ReinstateRequest:
        joins = [self.ledger.edges[decision_id]] if decision_id in self.ledger.edges else []
        by = self._by or _last_speaker(self.ledger, joins)
        return ReinstateRequest(decision_id=decision_id, rank=by, **self.said)

    def _bringing_back(self, entry: Entry) -> Request[Any]:
        if entry.living:
            raise RefusedError("not_retracted", f"{entry.id} is living already")
        if entry.forgotten is not None:
            return RestoreRequest(forgotten=entry.forgotten.cause, **self.said)
        undone = next((edge for edge in entry.edges if withdrawn_by(edge) is entry), None)
        if undone is not None:
            return self._reinstating(undone.id)
        return RestoreRequest(selection=self._only(entry.id), **self.said)

    def _require_not_forgotten(self, candidate_id: str, other_than: str | None = None) -> None:
        """RefusedError if another request has forgotten a candidate: it is undone by its own id."""
        forgotten = self.ledger.entries[candidate_id].forgotten
        if forgotten is not None and forgotten.cause != other_than:
            raise RefusedError("not_undoable", "another request has forgotten it since")

    def _retracting_again(self, event: Retracted) -> Request[Any]:
        if not self.ledger.entries[event.subject].living:
            _not_undone("it is still hidden")
        if event.data.again is not None:
            raise RefusedError(
                "not_undoable",
                "a forgetting is not repeated by its id: `forget` the memories again",
            )
        return self._hiding(event.subject)

    def _hiding(self, candidate_id: str) -> RetractRequest:
        if not self.ledger.entries[candidate_id].living:
            raise RefusedError("retracted_already", f"{candidate_id} is hidden already")
        return RetractRequest(selection=self._only(candidate_id), **self.said)

    def _hiding_again(self, event: Restored) -> RetractRequest:
        """Hides a candidate that was restored, and forgets its text if it was forgotten before."""
        found = self._log.find(event.id)
        assert found is not None, "the event was found by its id"
        before = self._reader.events_about(event.owner_id, [event.subject], found.position)
        of_it = [one.event for one in before if one.event.subject == event.subject]
        hidden = next(one for one in reversed(of_it) if isinstance(one, Decided | Retracted))
        forgetting: dict[str, Any] = {"again": "ask"}
        if isinstance(hidden, Retracted):
            forgetting = {"again": hidden.data.again, "earlier": hidden.data.earlier}
        return self._hiding(event.subject).model_copy(update=forgetting)

    def _hidden_again_by(self, entry: Entry) -> str | None:
        """The request that forgot a candidate by undoing its restoration; None if none did."""
        cause = "" if entry.forgotten is None else entry.forgotten.cause
        recorded = self._log.of_request(cause) if cause else []
        answer = answer_of(self._log, recorded, with_texts=False) if recorded else None
        return cause if isinstance(answer, Done) and "retracted" in answer.result else None

    def _setting_expiry(
        self, candidate_id: str, since: datetime | None, then: datetime | None
    ) -> SetExpiryRequest:
        entry = self.ledger.entries[candidate_id]
        if entry.expires_at != since:
            raise RefusedError("not_undoable", "its expiry has been set again since")
        pinned = bool(entry.pins) or None in (since, then)
        by = self._by or ("person" if pinned else "agent")
        return SetExpiryRequest(candidate_id=candidate_id, expires_at=then, rank=by, **self.said)

    def _only(self, candidate_id: str) -> Selection:
        return Selection(owner_id=self.ledger.owner_id, candidate_id=candidate_id)

    def _pair(self, event: Separated) -> tuple[Entry, Entry]:
        entries = self.ledger.entries
        return entries[event.data.candidate_id], entries[event.data.other_id]
