"""Connected components of standing joins: uniting, cutting, and paths between candidates."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from heapq import merge
from operator import attrgetter

from palimpsest.streams.core.faces import combine
from palimpsest.streams.core.ledger import Edge, Entry, Memory, SplitMemory

_PLACE = attrgetter("place")
FEW = 64
"""Up to this many members are deleted one by one; each deletion shifts the rest of the list."""


def begin(entry: Entry) -> Memory:
    """Make a candidate a memory of its own."""
    entry.memory = Memory([entry], entry.place)
    return entry.memory


def unite(edge: Edge) -> list[Entry]:
    """Make one memory of the two that a join connects; return members whose memory id changed.

    The face is continued if the join is the latest by place, else it is marked for refolding.
    """
    older, newer = edge.older.memory, edge.newer.memory
    if older is newer:
        older.last_place = max(older.last_place, edge.place)
        older.texted = older.texted or bool(edge.texts)
        older.refold()
        return []
    moved = newer.members if older.members[0].place < newer.members[0].place else older.members
    moved = list(moved)
    latest = edge.place > older.last_place
    latest = latest and (len(newer.members) == 1 or edge.place > newer.last_place)
    goes_on = latest and older.continuable and newer.continuable and not edge.texts
    faces = (older.face, newer.face) if goes_on else None
    big, small = (older, newer) if len(older.members) >= len(newer.members) else (newer, older)
    _absorb(big, small)
    big.last_place = max(big.last_place, small.last_place, edge.place)
    big.texted = big.texted or small.texted or bool(edge.texts)
    big.apart = _latest(big.apart, small.apart)
    if faces is not None:
        by_id = {entry.id: entry for entry in big.members} if big.texted else {}
        big.keep_face(combine(edge, by_id, *faces))
    else:
        big.refold()
    return moved


def _absorb(big: Memory, small: Memory) -> None:
    for entry in small.members:
        entry.memory = big
    if big.divided and small.divided:
        big.divided |= small.divided
    else:
        big.divided = big.divided or small.divided
    if small.members[0].place > big.members[-1].place:
        big.members.extend(small.members)
    else:
        big.members = list(merge(big.members, small.members, key=_PLACE))


def _latest(a: SplitMemory | None, b: SplitMemory | None) -> SplitMemory | None:
    """The later of the requests that are splitting two memories; it now covers their join."""
    if a is None or b is None:
        return a or b
    return a if a.order > b.order else b


def smaller_side(edge: Edge) -> set[Entry] | None:
    """The smaller of the two parts that a memory has without a join; None if it stays whole.

    Walks from both ends in turn, so the time is proportional to the smaller part.
    """
    ends = (edge.newer, edge.older)
    found = ({edge.newer}, {edge.older})
    walks = [_walk(end, seen, edge) for end, seen in zip(ends, found, strict=True)]
    while True:
        for number, walk in enumerate(walks):
            entry = next(walk, None)
            if entry is None:
                return found[number]
            if entry in found[1 - number]:
                return None


def _walk(start: Entry, seen: set[Entry], without: Edge) -> Iterator[Entry]:
    """Follow standing joins, one at a time; adds each candidate that it reaches to `seen`."""
    queue = deque([start])
    while queue:
        entry = queue.popleft()
        for edge in entry.edges:
            if edge.standing and edge is not without:
                other = edge.other(entry)
                if other not in seen:
                    seen.add(other)
                    queue.append(other)
                yield other


def cut(edge: Edge) -> tuple[Memory, Memory] | None:
    """Split the memory of a join that no longer stands; None if it stays whole.

    Returns the new part first; the larger part continues as the existing memory.
    """
    memory = edge.newer.memory
    side = smaller_side(edge)
    memory.refold()
    if side is None:
        return None
    members = sorted(side, key=_PLACE)
    joins = (edge.place for entry in members for edge in entry.edges if edge.standing)
    part = Memory(members, max(members[-1].place, max(joins, default=0)))
    part.texted, part.apart = memory.texted, memory.apart
    if memory.divided:
        part.divided = memory.divided & side
        memory.divided -= part.divided
    for entry in part.members:
        entry.memory = part
    if len(side) > FEW:
        memory.members = [entry for entry in memory.members if entry not in side]
    else:
        for entry in part.members:
            del memory.members[bisect_left(memory.members, entry.place, key=_PLACE)]
    if len(memory.members) == 1:  # with more members, reading them all would cost too much
        memory.last_place = memory.members[0].place
    return part, memory


def path(start: Entry, end: Entry, without: Edge | None = None) -> list[Edge] | None:
    """The shortest chain of standing joins between two candidates, or None."""
    came: dict[Entry, tuple[Entry, Edge] | None] = {start: None}
    queue = deque([start])
    while queue:
        entry = queue.popleft()
        if entry is end:
            return _trace(came, end)
        for edge in entry.edges:
            other = edge.other(entry)
            if edge.standing and edge is not without and other not in came:
                came[other] = (entry, edge)
                queue.append(other)
    return None


def _trace(came: dict[Entry, tuple[Entry, Edge] | None], end: Entry) -> list[Edge]:
    chain: list[Edge] = []
    step = came[end]
    while step is not None:
        entry, edge = step
        chain.append(edge)
        step = came[entry]
    return chain[::-1]


# -- updates -------------------------------------------------------------------------------------


def update_of(entry: Entry) -> Edge | None:
    """The standing update that brought a candidate."""
    own = (edge for edge in entry.edges if edge.id == entry.decision_id)
    return next((edge for edge in own if edge.over is not None and edge.standing), None)


def joins_of_update(edge: Edge) -> tuple[Edge, ...]:
    """The joins that an update made: usually one.

    There are two if another memory once had the text but says something else by now: the new
    candidate joins both that memory and the updated one.
    """
    brought = edge.winner
    own = next((edge for edge in brought.edges if edge.id == brought.decision_id), None)
    if own is None or own.over is None:
        return (edge,)
    then = (
        edge for edge in brought.edges if edge.order == own.order + 1 and edge.cause == own.cause
    )
    joins = (own, *(edge for edge in then if edge.over is not None))
    return joins if edge in joins else (edge,)


def latest_wording(entry: Entry) -> Entry:
    """The living candidate of the latest update of a candidate's text, or the candidate itself.

    Updates of the memory's other texts do not count.
    """
    own = update_of(entry)
    base = entry if own is None else own.other(entry)
    updates = [
        edge
        for edge in base.edges
        if edge.standing and edge.over is not None and edge.winner is not base
    ]
    living = [edge for edge in updates if edge.winner.living]
    return max(living, key=lambda edge: edge.order).winner if living else entry


def anchor(memory: Memory) -> Entry:
    """The entry that an update joins: the speaker, or the one at which its chain of updates began.

    A person's joins may close a circle of updates: each is followed once.
    """
    at = memory.face.speaker
    updates = [edge for edge in memory.edges() if edge.over is not None]
    while True:
        part = _without_updates(at)
        made_it = [edge for edge in updates if edge.winner in part]
        if not made_it:
            return at
        latest = max(made_it, key=lambda edge: edge.order)
        updates.remove(latest)
        at = latest.other(latest.winner)


def _without_updates(start: Entry) -> set[Entry]:
    """The candidates that would be in one memory with this one if there were no updates."""
    found, left = {start}, [start]
    while left:
        entry = left.pop()
        for edge in entry.edges:
            other = edge.other(entry)
            if edge.standing and edge.over is None and other not in found:
                found.add(other)
                left.append(other)
    return found


def last_update(memory: Memory) -> Edge | None:
    """The latest standing update of a memory."""
    updates = [edge for edge in memory.edges() if edge.over is not None]
    return max(updates, key=lambda edge: edge.order, default=None)
