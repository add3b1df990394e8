"""Components of standing joins: uniting, cutting, and the path between two candidates."""

from __future__ import annotations

from collections import deque
from heapq import merge

from streams.core.faces import combine, fold_face, own_face
from streams.core.ledger import Edge, Entry, Ledger, Memory


def begin(entry: Entry) -> Memory:
    """A candidate's own memory."""
    entry.memory = Memory([entry], own_face(entry), entry.place)
    return entry.memory


def unite(edge: Edge) -> list[Entry]:
    """Make one memory of the two that a standing join connects; return whose memory id changed.

    Continues the face where the join is the latest by place, else folds it anew.
    """
    older, newer = edge.older.memory, edge.newer.memory
    if older is newer:
        older.last_place = max(older.last_place, edge.place)
        refold(older)
        return []
    moved = newer.members if older.members[0].place < newer.members[0].place else older.members
    moved = list(moved)
    latest = edge.place > older.last_place
    latest = latest and (len(newer.members) == 1 or edge.place > newer.last_place)
    goes_on = latest and not (older.refold or newer.refold)
    big, small = (older, newer) if len(older.members) >= len(newer.members) else (newer, older)
    faces = older.face, newer.face
    _absorb(big, small)
    big.last_place = max(big.last_place, small.last_place, edge.place)
    if goes_on and not edge.texts:
        by_id = {e.id: e for e in big.members} if faces[0].composition else {}
        big.face = combine(edge, None, by_id, *faces)
    else:
        refold(big)
    return moved


def _absorb(big: Memory, small: Memory) -> None:
    for entry in small.members:
        entry.memory = big
    if small.members[0].place > big.members[-1].place:
        big.members.extend(small.members)
    else:
        big.members = list(merge(big.members, small.members, key=lambda entry: entry.place))


def refold(memory: Memory) -> None:
    """Fold the face of one memory from the start."""
    memory.face, memory.refold = fold_face(memory.members, memory.edges())


def reachable(start: Entry, without: Edge | None = None) -> set[Entry]:
    """The candidates that standing joins connect with `start`, one join apart."""
    found, queue = {start}, deque([start])
    while queue:
        entry = queue.popleft()
        for edge in entry.edges:
            if edge.standing and edge is not without:
                other = edge.other(entry)
                if other not in found:
                    found.add(other)
                    queue.append(other)
    return found


def cut(edge: Edge) -> tuple[Memory, Memory] | None:
    """Split the memory of a join that stands no more; None where it is still one memory."""
    memory = edge.newer.memory
    side = reachable(edge.newer)
    if edge.older in side:
        refold(memory)
        return None
    return _part(memory, side, inside=True), _part(memory, side, inside=False)


def _part(memory: Memory, side: set[Entry], *, inside: bool) -> Memory:
    members = [entry for entry in memory.members if (entry in side) is inside]
    edges = [
        edge for entry in members for edge in entry.edges if edge.standing and edge.newer is entry
    ]
    face, again = fold_face(members, edges)
    last = max([members[-1].place, *(edge.place for edge in edges)])
    part = Memory(members, face, last, again)
    for entry in members:
        entry.memory = part
    return part


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


def separated_pair(ledger: Ledger, a: Memory, b: Memory) -> tuple[Entry, Entry] | None:
    """A pair of separated candidates, one in each memory, if there is one."""
    if not ledger.statements:
        return None
    small, big = (a, b) if len(a.members) <= len(b.members) else (b, a)
    for entry in small.members:
        for other, statement in ledger.statements.get(entry.id, {}).items():
            if statement.separated and ledger.entries[other].memory is big:
                return entry, ledger.entries[other]
    return None
