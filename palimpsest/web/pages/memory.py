"""A memory's page: its tree of joins, each of which can be cut, and its timeline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from math import inf

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.shown import Found, Happened, ShownMember
from palimpsest.projections.shown.memory import brought_by
from palimpsest.queries.show import shown_member
from palimpsest.server.intents import own_id
from palimpsest.server.problems import not_found
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.web import paths
from palimpsest.web.door import Door, Visit, reason_in
from palimpsest.web.expiry import Ending, ending_of, pin
from palimpsest.web.rendering import excerpt
from palimpsest.web.taking_back import (
    Became,
    became_between,
    carry_out,
    cut_of,
    foresee,
    undone_by,
)

MEMBERS = 200
"""Members per page."""
SHOWN_MEMBERS = 20
"""Members shown of a memory before and after a step: the resulting memories matter more."""
EVENTS = 100
"""Events per page, the latest first."""
MANY_EVENTS = 1_000
"""Number of an owner's events that take about a tenth of a second to read."""
DEEPEST = 8
"""Maximum indentation of a tree; in deeper levels, members name what they joined."""

PATH = "/owners/{owner}/memories/{memory}"


@dataclass(frozen=True, slots=True)
class JoinLine:
    """A standing join of a member: its other end and text, and the id that cuts it, if any."""

    to: str
    text: str
    decision: str
    cut: str | None


@dataclass(frozen=True, slots=True)
class Branch:
    """A member in the tree, below the one that it joined. `supports` are its other joins."""

    depth: int
    member: ShownMember
    join: JoinLine | None
    supports: Sequence[JoinLine]
    ending: Ending


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event of the timeline: the texts that it is about, and the face if that changed.

    `fresh`: it is what led to this page, an undo or a pin. `undo` is its id, if it can be undone.
    """

    event: Happened
    texts: Sequence[str]
    face: str | None
    fresh: bool
    undo: str | None


@dataclass(frozen=True, slots=True)
class TimelineView:
    """Events, the latest first; `earlier` is the position before which the next page begins."""

    lines: Sequence[EventLine]
    earlier: int | None

    @property
    def fresh(self) -> list[EventLine]:
        """The fresh events, in order."""
        return [line for line in reversed(self.lines) if line.fresh]


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Everything on the page: members from `start` on, and how many `more` there are.

    The timeline of an owner with many events is loaded later, because it needs the owner's whole
    log. `became` is the effect on the owner's memories of an undo that was just carried out.
    """

    found: Found
    ending: Ending
    branches: Sequence[Branch]
    start: int
    more: int
    timeline: TimelineView | None
    became: Sequence[Became]


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """The requested part of a memory: members from `start` on, events before a position.

    Events after the position `since`, up to `until`, are fresh: an undo or a pin caused them.
    `whole`: include the timeline, however long it takes.
    """

    start: int = 0
    before: int | None = None
    since: int | None = None
    until: int | None = None
    whole: bool = False


ALL = TimelinePart()


def add(door: Door) -> None:
    """Add the page, its timeline, its pin, and the pages that show and carry out an undo."""
    door.get(PATH, _memory)
    door.get(f"{PATH}/timeline", _timeline)
    door.get(f"{PATH}/take-back", _shown)
    door.post(f"{PATH}/take-back", _carry_out)
    door.post(f"{PATH}/pin", _pin)


def view(store: Palimpsest, owner_id: str, some_id: str, part: TimelinePart = ALL) -> MemoryView:
    """The page of a memory, by any id; a problem if it is not this owner's."""
    own, ledger = _own(store, owner_id, some_id)
    memory = ledger.entries[own].memory
    branches = _branches(store, ledger, memory, part.start)
    at_once = ledger.seen <= MANY_EVENTS or part.whole or part.since is not None
    return MemoryView(
        found=store.get(own),
        ending=ending_of(memory, store.reader.clock()),
        branches=branches,
        start=part.start,
        more=len(memory.members) - part.start - len(branches),
        timeline=timeline(store, owner_id, own, part) if at_once else None,
        became=became_between(store, owner_id, part.since, part.until),
    )


def timeline(
    store: Palimpsest, owner_id: str, some_id: str, part: TimelinePart = ALL
) -> TimelineView:
    """The timeline of a memory, by any id; a problem if it is not this owner's."""
    own, ledger = _own(store, owner_id, some_id)
    lines = _lines(store, ledger, store.history(own)["events"], part)
    shown = lines[:EVENTS]
    return TimelineView(
        lines=shown,
        earlier=shown[-1].event["position"] if len(lines) > EVENTS else None,
    )


def _own(store: Palimpsest, owner_id: str, some_id: str) -> tuple[str, Ledger]:
    own = own_id(store, owner_id, some_id)
    ledger = store.reader.ledger(owner_id)
    if own not in ledger.entries:
        raise not_found()
    return own, ledger


# -- the tree ------------------------------------------------------------------------------------


def _branches(store: Palimpsest, ledger: Ledger, memory: Memory, start: int) -> list[Branch]:
    """One page of the tree: members, each followed by those that joined it."""
    found = []
    for entry, depth in islice(_walk(memory), start, start + MEMBERS):
        member = shown_member(store.reader, entry)
        join = _join(ledger, member["joined_to"], member["decision"], member["decision_id"])
        supports = [
            _join(ledger, support["joined_to"], support["decision"], support["decision_id"])
            for support in member["supports"]
        ]
        standing, ending = list(filter(None, supports)), ending_of(entry, store.reader.clock())
        found.append(Branch(min(depth, DEEPEST), member, join, standing, ending))
    return found


def _walk(memory: Memory) -> Iterator[tuple[Entry, int]]:
    """Every member with its depth: the earliest first, each followed by those that joined it."""
    below: dict[Entry | None, list[Entry]] = defaultdict(list)
    for entry in memory.members:
        edge = brought_by(entry)
        below[edge.older if edge is not None else None].append(entry)
    waiting = [(entry, 0) for entry in reversed(below[None])]
    while waiting:
        entry, depth = waiting.pop()
        yield entry, depth
        waiting += [(entry_below, depth + 1) for entry_below in reversed(below[entry])]


def _join(ledger: Ledger, to: str | None, decision: str, decision_id: str) -> JoinLine | None:
    if to is None:
        return None
    return JoinLine(
        to, excerpt(ledger.entries[to].text), decision, cut_of(ledger.edges[decision_id])
    )


# -- the timeline --------------------------------------------------------------------------------


def _lines(
    store: Palimpsest, ledger: Ledger, events: Sequence[Happened], part: TimelinePart
) -> list[EventLine]:
    """A page of events, the latest first, with one more if another page follows."""
    faces = [None, *(event.get("face") for event in events)]
    with_faces = zip(events, pairwise(faces), strict=True)
    wished = [
        face for face in with_faces if part.before is None or face[0]["position"] < part.before
    ]
    return [
        EventLine(
            event,
            [
                excerpt(ledger.entries[name].text)
                for name in (event.get("candidate_id", ""), event.get("other_id", ""))
                if name in ledger.entries
            ],
            excerpt(face) if face is not None and face != before else None,
            part.since is not None and part.since < event["position"] <= (part.until or inf),
            event["event_id"] if undone_by(store, ledger, event["event_id"]) else None,
        )
        for event, (before, face) in wished[: -EVENTS - 2 : -1]
    ]


# -- pages ---------------------------------------------------------------------------------------


def _part(visit: Visit) -> TimelinePart:
    start = visit.number("start") or 0
    before, since, until = (visit.number(name) for name in ("before", "since", "until"))
    whole = "whole" in visit.query or before is not None
    return TimelinePart(start, before, since, until, whole)


async def _memory(visit: Visit) -> Response:
    owner_id = visit.owner()
    found = await visit.store.call(view, owner_id, visit.ids["memory"], _part(visit))
    return visit.page(
        "memory.html",
        owner_id=owner_id,
        memory_id=found.found["memory_id"],
        view=found,
        timeline=found.timeline,
    )


async def _timeline(visit: Visit) -> Response:
    owner_id, memory_id = visit.owner(), visit.ids["memory"]
    found = await visit.store.call(timeline, owner_id, memory_id, _part(visit))
    return visit.page("timeline.html", owner_id=owner_id, memory_id=memory_id, timeline=found)


async def _shown(visit: Visit) -> Response:
    owner_id, some_id = visit.owner(), visit.query.get("id", "")
    with_consequences = visit.query.get("consequences", "1") == "1"
    shown = await visit.store.call(foresee, owner_id, some_id, with_consequences=with_consequences)
    return visit.page(
        "take_back.html",
        owner_id=owner_id,
        memory_id=visit.ids["memory"],
        shown=shown,
        shown_members=SHOWN_MEMBERS,
    )


async def _pin(visit: Visit) -> Response:
    owner_id, memory_id = visit.owner(), visit.ids["memory"]

    def pinned(store: Palimpsest) -> None:
        own, _ = _own(store, owner_id, memory_id)
        pin(store, own, visit.form.get("until", ""), visit.caller.name, reason_in(visit.form))

    return await _show_effect(visit, pinned)


async def _carry_out(visit: Visit) -> Response:
    return await _show_effect(
        visit,
        partial(
            carry_out,
            owner_id=visit.owner(),
            some_id=visit.form.get("id", ""),
            with_consequences=visit.form.get("consequences") == "1",
            token=visit.form.get("token", ""),
            actor=visit.caller.name,
            because=reason_in(visit.form),
        ),
    )


async def _show_effect(visit: Visit, change: Callable[[Palimpsest], object]) -> Response:
    """Make a change, and show the memory with what it did, by the log's positions around it."""

    def done(store: Palimpsest) -> tuple[int, int]:
        before = store.position
        change(store)
        return before, store.position

    since, until = map(str, await visit.store.call(done))
    return visit.to(paths.memory(visit.owner(), visit.ids["memory"], since=since, until=until))
