"""Of an owner who has names: which memories say what has become of another (docs/guard.md, Frames).

The questions to the judge that wait say so, and frames. Nothing is joined by it: it orders hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from palimpsest.streams.core.frames import Framed, by_face_moment, framed, of_one_frame
from palimpsest.streams.core.ledger import Entry, Ledger, Memory

STEPS = 2
"""Questions between a memory and another wording of what it says; further ones stray from it."""
REWORDED = 0.75
"""The cosine from which a question may be about two wordings of one thing."""


def unsettled(ledger: Ledger, memory: Memory) -> set[str]:
    """The other memories that pending questions to the judge may join it with.

    Both its own members' questions count, and those of others about its members.
    """
    return {asking.memory.id for asking, _ in _questions(ledger, memory)}.union(
        asked.memory.id for _, asked in _questions(ledger, memory)
    ) - {memory.id}


class Newer:
    """Finds among some memories those that may replace another one."""

    def __init__(self, ledger: Ledger, among: Iterable[Memory]) -> None:
        self._ledger = ledger
        self._by_key: dict[int, list[Framed]] = {}
        for memory in among:
            other = framed(ledger, memory)
            for key in other.keys:
                self._by_key.setdefault(key, []).append(other)

    def of(self, head: Memory) -> set[str]:
        """The ids of the memories that may replace one, or another wording of it.

        Each is newer than both, and is asked about as a change or another value, or is one of those
        among which it is looked for that say the same up to one value.
        """
        since = by_face_moment(head)
        found = set[str]()
        for wording in _wordings(self._ledger, head):
            least = max(since, by_face_moment(wording))
            found |= {
                asking.memory.id
                for asking, asked in _questions(self._ledger, wording)
                if asked.memory is wording
                and _asks_by_frame(asking, asked)
                and by_face_moment(asking.memory) > least
            }
            older = framed(self._ledger, wording)
            mates = {
                newer.memory.id: newer for key in older.keys for newer in self._by_key.get(key, ())
            }
            found |= {
                memory_id
                for memory_id, newer in mates.items()
                if by_face_moment(newer.memory) > least and of_one_frame(self._ledger, older, newer)
            }
        return found


def _wordings(ledger: Ledger, head: Memory) -> list[Memory]:
    """A memory, and those that may say the same: a question about both waits, and they are near."""
    found = [head]
    start = 0
    for _ in range(STEPS):
        end = len(found)
        for memory in found[start:end]:
            for asking, asked in _questions(ledger, memory):
                other = asked.memory if asking.memory is memory else asking.memory
                if other not in found and _may_reword(asking, asked):
                    found.append(other)
        start = end
    return found


def _questions(ledger: Ledger, memory: Memory) -> Iterator[tuple[Entry, Entry]]:
    """The pending questions of a memory's members, and those about them: who asks about whom."""
    for entry in memory.members:
        if entry.pending and entry.living:
            for neighbour in (*entry.open, *filter(None, [entry.held])):
                yield entry, ledger.entries[neighbour]
        for asking in ledger.watchers.get(entry.id, {}).values():
            waits = asking.pending and asking.living
            if waits and (entry.id in asking.open or entry.id == asking.held):
                yield asking, entry


def _asks_by_frame(asking: Entry, asked: Entry) -> bool:
    """Whether a change or another value brought the one up in the other's question."""
    return any(n.frame is not None and n.candidate_id == asked.id for n in asking.asked)


def _may_reword(asking: Entry, asked: Entry) -> bool:
    """Whether the one may say in other words what the other says."""
    return any(
        n.frame is None and n.candidate_id == asked.id and (n.cosine or 0.0) >= REWORDED
        for n in asking.asked
    )
