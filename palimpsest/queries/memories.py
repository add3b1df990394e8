"""An owner's memories in pages, one memory by any id that it ever had, and its history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import RefusedError, UsageError, no_such_id
from palimpsest.contracts.events import Decided, Reversed
from palimpsest.contracts.shown import Found, Happened, History, Page
from palimpsest.contracts.urn import Urn
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.shown.memory import Weighing, shown_memory, state_of
from palimpsest.projections.shown.related import fold_related, related
from palimpsest.projections.shown.timeline import Timeline, TimelineEntry
from palimpsest.queries.show import owner_of, with_context
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.version import version_of

REPEATS = frozenset({"hash_exact", "recent_capture"})
"""Decisions that no undo is offered for: it is refused if the two texts are the same."""


def page_of(
    reader: Reader,
    owner_id: str,
    wanted: Filter,
    *,
    limit: int,
    after: str | None,
    former: bool,
) -> Page:
    """A page of the living memories that pass the filter, latest first by their earliest members.

    A memory keeps its place as long as it keeps its id, so one that exists throughout is on exactly
    one page. `after` is the `next` of the previous page; UsageError if the owner has no such id.
    """
    ledger, wanted = reader.ledger(owner_id), replace(wanted, at=reader.clock())
    if after is not None and after not in ledger.entries:
        raise UsageError("`after` must be the `next` of a page of this owner's memories")
    found = [
        memory
        for memory in reversed(ledger.memories())
        if wanted.keeps(memory) and (former or not memory.former)
    ]
    place = None if after is None else ledger.entries[after].place
    left = [memory for memory in found if place is None or memory.members[0].place < place]
    weighing = _decay(reader)
    return Page(
        memories=[shown_memory(memory, weighing, former=former) for memory in left[:limit]],
        next=left[limit - 1].id if len(left) > limit else None,
        total=len(found),
    )


def find_memory(reader: Reader, some_id: str) -> Found:
    """The memory that an id belongs to today, with all its wordings.

    The id may be that of any candidate, and so also of any former memory. Raises RefusedError if it
    is unknown.
    """
    owner_id = owner_of(reader, some_id)
    ledger = reader.ledger(owner_id)
    memory = _entry(ledger, some_id).memory
    return {
        **shown_memory(memory, _decay(reader), former=True),
        "id": some_id,
        "moved": memory.id != some_id,
        "state": state_of(memory, reader.clock()),
        "owner_id": owner_id,
        "needs_composition": memory.face.needs_composition,
    }


def speaker_of(reader: Reader, some_id: str) -> str:
    """The id of the candidate that speaks for the memory that an id belongs to."""
    return _entry(reader.ledger(owner_of(reader, some_id)), some_id).memory.face.speaker.id


def require_future(reader: Reader, until: datetime | None) -> None:
    """UsageError for a time that has passed: what should be kept would be hidden at once."""
    if until is not None and until <= reader.clock():
        raise UsageError(
            f"{until.isoformat()} has passed, so the memory would be hidden at once: give a later"
            " time, or forget the memory"
        )


def to_expire(reader: Reader, some_id: str, expires_at: datetime | None) -> list[str]:
    """The candidates whose expiry must be set so that the memory of an id expires at a time.

    These are all members that would live longer. If there are none, or if the memory is to live for
    ever (None), it is the memory's speaker. Empty if the memory expires then already.
    """
    memory = _entry(reader.ledger(owner_of(reader, some_id)), some_id).memory
    if memory.expires_at == expires_at:
        return []
    if expires_at is None:
        return [memory.face.speaker.id]
    outliving = [
        entry.id
        for entry in memory.members
        if entry.living and (entry.expires_at is None or entry.expires_at > expires_at)
    ]
    return outliving or [memory.face.speaker.id]


def _entry(ledger: Ledger, some_id: str) -> Entry:
    entry = ledger.entries.get(some_id)
    if entry is None:
        raise RefusedError("unknown_candidate", no_such_id(some_id))
    return entry


def _decay(reader: Reader) -> Weighing | None:
    """How memories are weighed if the policy has decay, else None; no memory is left out."""
    policy = reader.policy_in_force()
    return Weighing(policy, reader.clock(), None) if policy.decay is not None else None


# -- the history of a memory ---------------------------------------------------------------------


class _Then(NamedTuple):
    """A candidate's memory after an event: its id and its face."""

    memory_id: str
    face: str


class _Step(NamedTuple):
    """An event, and the memories of its candidates after it."""

    entry: TimelineEntry
    then: dict[str, _Then]


class _Cut(NamedTuple):
    """A memory that split at a position: the ids of both parts."""

    position: int
    parts: tuple[frozenset[str], frozenset[str]]


class _Story:
    """The events about a memory, with the effect of each: those of related candidates, folded."""

    def __init__(self, reader: Reader, owner_id: str, memory: Memory) -> None:
        self._memory = memory
        entries = reader.ledger(owner_id).entries
        names = related(memory.members)
        while True:
            self._fold(reader, owner_id, names)
            # Whose face is shown with an event may be settled among candidates that are unrelated.
            named = {one for step in self._unclear() for one in step.entry.about if one in entries}
            if named <= names:
                break
            names = related(entries[one] for one in names | named)

    def _fold(self, reader: Reader, owner_id: str, names: set[str]) -> None:
        self.ledger = Ledger(owner_id)
        self._steps: list[_Step] = []
        self._cuts: list[_Cut] = []
        timeline = Timeline()
        for recorded in with_context(reader, owner_id, names):
            entry = timeline.note(recorded)
            if entry.about.isdisjoint(names):
                continue
            together = self._memories(entry)
            fold_related(self.ledger, recorded.event, names)
            if isinstance(recorded.event, Reversed) and len(together) == 1:
                parts = [frozenset(m.id for m in part.members) for part in self._memories(entry)]
                if len(parts) == 2:
                    self._cuts.append(_Cut(entry.event["position"], (parts[0], parts[1])))
            if (undo := _undo_of(entry.event)) is not None:
                entry.event["undo"] = undo
            if isinstance(recorded.event, Decided):
                entry.event["text"] = recorded.event.data.content.text
            self._steps.append(_Step(entry, self._then(entry)))

    def _memories(self, entry: TimelineEntry) -> list[Memory]:
        """The memories of the candidates that an event is about, each once."""
        entries = (self.ledger.entries.get(candidate_id) for candidate_id in sorted(entry.about))
        return list({id(e.memory): e.memory for e in entries if e is not None}.values())

    def _then(self, entry: TimelineEntry) -> dict[str, _Then]:
        entries = (self.ledger.entries.get(candidate_id) for candidate_id in sorted(entry.about))
        return {
            entry.id: _Then(entry.memory.id, entry.memory.text)
            for entry in entries
            if entry is not None
        }

    def events(self) -> list[Happened]:
        """The events of today's members, and those of former members until they left."""
        members = {entry.id for entry in self._memory.members}
        return [_with_face(step, self._memory.id, members) for step in self._told()]

    def _told(self) -> Iterator[_Step]:
        until = self._left()
        members = {entry.id for entry in self._memory.members}
        for step in self._steps:
            if any(
                candidate_id in members
                or step.entry.event["position"] <= until.get(candidate_id, -1)
                for candidate_id in step.entry.about
            ):
                yield step

    def _unclear(self) -> Iterator[_Step]:
        """The events about neither a member nor a candidate that was in the memory then."""
        members = {entry.id for entry in self._memory.members}
        for step in self._told():
            homes = {then.memory_id for then in step.then.values()}
            if self._memory.id not in homes and members.isdisjoint(step.then):
                yield step

    def _left(self) -> dict[str, int]:
        """The candidates that left the memory, with the position at which each last left."""
        left: dict[str, int] = {}
        for position, parts in self._cuts:
            for part, other in (parts, parts[::-1]):
                if self._memory.id in part:
                    left.update(dict.fromkeys(other, position))
        return left


def _undo_of(event: Happened) -> str | None:
    """The id that undoes an event; None if nothing does."""
    match event["event"]:
        case "decided" if "other_id" in event and event["decision"] not in REPEATS:
            return event["event_id"]
        case "settled" | "joined" | "redecided" if "other_id" in event:
            return event["event_id"]
        case "retracted" | "reversed" | "reinstated" | "expiry_set":
            return event.get("cause") or event["event_id"]
        case _:
            return None


def _with_face(step: _Step, memory_id: str, members: set[str]) -> Happened:
    """An event with the memory's face after it, or a part's face before the memory existed."""
    if not step.then:
        return step.entry.event
    nearest = min(
        step.then.items(), key=lambda item: (item[1].memory_id != memory_id, item[0] not in members)
    )
    return {**step.entry.event, "face": nearest[1].face}


def history_of(reader: Reader, some_id: str) -> History:
    """Every event of a memory, by any of its ids; raises RefusedError if the id is unknown."""
    owner_id = owner_of(reader, some_id)
    memory = _entry(reader.ledger(owner_id), some_id).memory
    return History(
        id=some_id,
        memory_id=memory.id,
        urn=str(Urn(owner_id, memory.namespace, memory.id)),
        moved=memory.id != some_id,
        state=state_of(memory, reader.clock()),
        owner_id=owner_id,
        namespace=memory.namespace,
        face=memory.text,
        version=version_of(memory),
        events=_Story(reader, owner_id, memory).events(),
    )
