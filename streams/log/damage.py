"""Finds faults of an event without folding it: in its references and its contents.

An event may name only earlier candidates and decisions of the same owner, and may reverse only
standing joins. A chain of hashes could prove more; docs/reliability.md says what goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import (
    Accessed,
    AnyEvent,
    Composed,
    Composition,
    Confirmed,
    Content,
    Decided,
    Embedded,
    Erased,
    ExpirySet,
    Join,
    Joined,
    Redecided,
    Refused,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import candidate_id, decision_id_of
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.text import NORMALISER, VERBATIM, text_hash, verbatim_hash


class DamagedEventError(StoreError):
    """An event that was changed or moved; `what` is the predicate of a sentence about it."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(position, what)
        self.position = position
        self.what = what

    def __str__(self) -> str:
        return (
            f"the event at position {self.position} {self.what}: the log was changed;"
            " restore log.sqlite from a copy"
        )


class References:
    """The candidates and decisions of one owner so far, and the standing statements about pairs.

    A statement is a join or a separation: both name their pair, and both can be taken back.
    """

    def __init__(self) -> None:
        self._candidates: set[str] = set()
        self._decisions: set[str] = set()
        self._pairs: dict[str, tuple[str, str]] = {}
        self._standing: set[str] = set()

    def fault(self, event: AnyEvent) -> str | None:
        """An invalid reference in an event; None if there is none, and the event is then added."""
        found = next(self._faults(event), None)
        if found is None:
            self._take(event)
        return found

    def _faults(self, event: AnyEvent) -> Iterator[str]:
        for named in _candidates_named(event):
            if named not in self._candidates:
                yield f"names the candidate {named}, which no earlier event of its owner admitted"
        match event:
            case Decided() if event.subject in self._candidates:
                yield f"admits the candidate {event.subject} once more"
            case Reversed():
                data = event.data
                yield from self._statement_faults(data.decision_id, standing=True)
                if self._pairs.get(data.decision_id) != (data.candidate_id, data.joined_to):
                    yield f"names other candidates than those of the join {data.decision_id}"
                if data.consequence_of is not None:
                    yield from self._decision_faults(data.consequence_of)
            case Reinstated():
                yield from self._statement_faults(event.data.decision_id, standing=False)
            case Composed():
                yield from self._statement_faults(event.data.decision_id)
            case Confirmed():
                yield from self._decision_faults(event.data.decision_id)
            case Redecided():
                yield from self._decision_faults(event.data.consequence_of)
            case _:
                pass

    def _decision_faults(self, decision_id: str) -> Iterator[str]:
        if decision_id not in self._decisions:
            yield f"names the decision {decision_id}, which is no earlier event of its owner"

    def _statement_faults(self, decision_id: str, *, standing: bool | None = None) -> Iterator[str]:
        if decision_id not in self._pairs:
            yield f"names the join {decision_id}, which no earlier event of its owner made"
        elif standing is not None and (decision_id in self._standing) is not standing:
            now = "stands already" if not standing else "is reversed already"
            yield f"names the join {decision_id}, which {now}"

    def _take(self, event: AnyEvent) -> None:
        match event:
            case Decided():
                self._candidates.add(event.subject)
                self._decide(event.id, event.subject, event.data.join)
            case Settled() | Joined() | Redecided():
                self._decide(event.id, event.data.candidate_id, event.data.join)
            case Reversed():
                self._standing.discard(event.data.decision_id)
            case Reinstated():
                self._standing.add(event.data.decision_id)
            case Separated():
                self._say(event.id, event.data.candidate_id, event.data.other_id)
            case _:
                pass

    def _decide(self, decision_id: str, newer: str, join: Join | None) -> None:
        self._decisions.add(decision_id)
        if join is not None:
            self._say(decision_id, newer, join.to)

    def _say(self, event_id: str, newer: str, older: str) -> None:
        self._pairs[event_id] = newer, older
        self._standing.add(event_id)


def _candidates_named(event: AnyEvent) -> Sequence[str]:
    """The candidates that the fold of an event looks up. A refused event may name anything."""
    match event:
        case Decided():
            data = event.data
            named = _in_decision(data.join, None, data.evidence)
            if data.composition is not None:
                named += [source for source in data.composition.sources if source != event.subject]
            return named
        case Settled() | Joined() | Redecided():
            later = event.data
            named = _in_decision(later.join, later.composition, later.evidence)
            return [later.candidate_id, *named]
        case Composed():
            return event.data.composition.sources
        case Reversed():
            return event.data.candidate_id, event.data.joined_to
        case Separated():
            return event.data.candidate_id, event.data.other_id
        case Retracted() | Restored() | ExpirySet() | Embedded():
            return (event.data.candidate_id,)
        case Accessed():
            return [event.data.candidate_id, *(use.candidate_id for use in event.data.uses or ())]
        case Erased():
            return event.data.candidate_ids
        case _:
            return ()


def _in_decision(
    join: Join | None, composition: Composition | None, evidence: Evidence | None
) -> list[str]:
    named = [] if join is None else [join.to]
    if composition is not None:
        named += composition.sources
    if evidence is not None:
        if evidence.neighbours:
            named += [neighbour.candidate_id for neighbour in evidence.neighbours]
        named += evidence.asked
        if evidence.nearest is not None:
            named.append(evidence.nearest.candidate_id)
        if evidence.verdicts:
            named += [verdict.neighbour_id for verdict in evidence.verdicts]
    return named


def in_order(events: Iterable[Recorded], owner_id: str) -> Iterator[Recorded]:
    """An owner's events from the first on; raises DamagedEventError if one cannot be folded."""
    references = References()
    for recorded in events:
        event = recorded.event
        other = (
            None
            if event.owner_id == owner_id
            else "belongs to another owner, according to its line"
        )
        fault = other or references.fault(event)
        if fault is not None:
            raise DamagedEventError(recorded.position, fault)
        yield recorded


def content_fault(event: AnyEvent) -> str | None:
    """How an event's ids and texts contradict its hashes, if at all; never quotes a text."""
    for content in _contents(event):
        if content.normaliser != NORMALISER:
            return f"has a hash by the normaliser {content.normaliser}, unknown to this version"
        if text_hash(content.text) != content.hash:
            return f"has another text than the one that was hashed by {content.normaliser}"
        form = content.verbatim
        if form is not None and form.normaliser != VERBATIM:
            return f"has a hash by the normaliser {form.normaliser}, unknown to this version"
        if form is not None and verbatim_hash(content.text) != form.hash:
            return f"has another text than the one that was hashed by {form.normaliser}"
    if isinstance(event, Decided):
        fields = event.data.candidate
        if fields.owner_id != event.owner_id:
            return "admits a candidate of another owner"
        if candidate_id(fields.owner_id, fields.source, fields.id) != event.subject:
            return "admits a candidate under another id than its own"
        if decision_id_of(event.subject) != event.id:
            return "has another id than the one that follows from its candidate"
    return None


def _contents(event: AnyEvent) -> Iterator[Content]:
    match event:
        case Decided():
            yield event.data.content
        case Settled() | Joined() | Redecided() | Refused() | Composed():
            pass
        case _:
            return
    if event.data.composition is not None:
        yield event.data.composition.content


class Checker:
    """Checks events of all owners in the order of the log."""

    def __init__(self) -> None:
        self._owners: dict[str, References] = {}

    def check(self, position: int, event: AnyEvent) -> None:
        """Check the next event; raises DamagedEventError if it has a fault."""
        references = self._owners.get(event.owner_id)
        if references is None:
            references = self._owners[event.owner_id] = References()
        fault = content_fault(event) or references.fault(event)
        if fault is not None:
            raise DamagedEventError(position, fault)
