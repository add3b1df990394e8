"""For owners with names, finds memories that may replace another one (docs/guard.md, Frames).

These are found by frames, and by pending questions to the judge. The result only orders hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from palimpsest.streams.core.frames import by_face_moment, framed, of_one_frame
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import is_note, kept_frame_keys, kept_reading, kept_subject

STEPS = 2
"""Maximum number of questions between a memory and another wording of it; more would stray."""
REWORDED = 0.75
"""The cosine from which a question may be about two wordings of the same statement."""


def unsettled(ledger: Ledger, memory: Memory) -> set[str]:
    """The other memories that pending questions to the judge may join this one with.

    These are its own members' questions, and those of others about its members.
    """
    pairs = _questions(ledger, memory)
    return {entry.memory.id for pair in pairs for entry in pair} - {memory.id}


def may_say_the_same(ledger: Ledger, memory: Memory, names: tuple[str, ...]) -> set[str]:
    """Those of `unsettled` that may speak of the same person, as *Ada's sister* does not."""
    return {
        other
        for other in unsettled(ledger, memory)
        if not _of_two_people(memory, ledger.entries[other].memory, names)
    }


def _of_two_people(one: Memory, other: Memory, names: tuple[str, ...]) -> bool:
    """Whether two memories certainly speak of two people, by how their texts begin."""
    mine, theirs = (
        None if is_note(kept_reading(text)) else kept_subject(text, names)
        for text in (one.text, other.text)
    )
    return mine is not None and theirs is not None and mine != theirs


class Newer:
    """Finds, among the heads and further memories, those that may replace one of the heads."""

    def __init__(
        self,
        ledger: Ledger,
        names: tuple[str, ...],
        heads: Sequence[Memory],
        further: Iterable[Memory],
    ) -> None:
        self._ledger = ledger
        self._names = names
        self._wordings = {
            head.id: [framed(wording, names) for wording in _wordings(ledger, head)]
            for head in heads
        }
        wanted = {
            key for wordings in self._wordings.values() for older in wordings for key in older.keys
        }
        self._by_key: dict[int, list[Memory]] = {}
        for memory in chain(heads, further):
            for key in wanted.intersection(kept_frame_keys(memory.text, names)):
                self._by_key.setdefault(key, []).append(memory)

    def of(self, head: Memory) -> set[str]:
        """The ids of the memories that may replace this one, or another wording of it.

        Each is newer than both. Either its question asks whether it is a change or another value,
        or it is one of the given memories and says the same except for one value.
        """
        since = by_face_moment(head)
        found = set[str]()
        for older in self._wordings[head.id]:
            wording = older.memory
            least = max(since, by_face_moment(wording))
            found |= {
                asking.memory.id
                for asking, asked in _questions(self._ledger, wording)
                if asked.memory is wording
                and _asks_by_frame(asking, asked)
                and by_face_moment(asking.memory) > least
            }
            mates = {newer.id: newer for key in older.keys for newer in self._by_key.get(key, ())}
            found |= {
                memory_id
                for memory_id, newer in mates.items()
                if by_face_moment(newer) > least
                and of_one_frame(self._ledger, older, framed(newer, self._names))
            }
        return found


def _wordings(ledger: Ledger, head: Memory) -> list[Memory]:
    """A memory and those that may say the same: near ones, with a pending question about both."""
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
    """The pending questions of a memory's members, and those about them: asking and asked entry."""
    for entry in memory.members:
        if entry.pending and entry.living:
            for neighbour in (*entry.open, *filter(None, [entry.held])):
                yield entry, ledger.entries[neighbour]
        for asking in ledger.watchers.get(entry.id, {}).values():
            waits = asking.pending and asking.living
            if waits and (entry.id in asking.open or entry.id == asking.held):
                yield asking, entry


def _asks_by_frame(asking: Entry, asked: Entry) -> bool:
    """Whether a question asks about an entry because of its frame: a change, or another value."""
    return any(n.frame is not None and n.candidate_id == asked.id for n in asking.asked)


def _may_reword(asking: Entry, asked: Entry) -> bool:
    """Whether two entries may say the same in other words."""
    return any(
        n.frame is None and n.candidate_id == asked.id and (n.cosine or 0.0) >= REWORDED
        for n in asking.asked
    )
