"""For owners with names, finds memories that may replace another one (docs/guard.md, Frames).

These are found by frames, and by pending questions to the judge. The result only orders hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from palimpsest.projections.recall.sayings import Said, Sayings
from palimpsest.streams.core.frames import by_face_moment, of_one_frame, told_apart
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import (
    is_note,
    kept_for_frames,
    kept_reading,
    kept_saying,
    kept_subject,
    shares_a_word,
)

STEPS = 2
"""Maximum number of questions between a memory and another wording of it; more would stray."""
Moment = tuple[datetime, int]
_NOBODY = frozenset[Memory]()

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
        self, ledger: Ledger, sayings: Sayings, heads: Iterable[Memory], further: Iterable[Memory]
    ) -> None:
        self._ledger = ledger
        self._sayings = sayings
        self._near = {*heads, *further}
        sayings.file(self._near)

    def of(self, head: Memory) -> set[str]:
        """The ids of the memories that may replace this one, or another wording of it.

        Each is newer than this memory and than that wording, and is one of these: a memory whose
        question to the judge asks whether it is a change or another value; a given memory in which
        an update has replaced what the older one says; or a given memory that says the same except
        for one value.
        """
        since = self._sayings.of(head).moment
        found = set[str]()
        for wording, said in self._wordings_of(head).items():
            least = max(since, said.moment)
            newer = chain(
                self._asked_about(wording, least),
                self._updated(wording, said, least),
                self._of_one_frame(said, least),
            )
            found |= {memory.id for memory in newer}
        return found

    def _asked_about(self, wording: Memory, least: Moment) -> Iterator[Memory]:
        """Newer memories of which the judge is asked whether they change this one's value."""
        for asking, asked in _questions(self._ledger, wording):
            value = any(n.frame is not None and n.candidate_id == asked.id for n in asking.asked)
            if value and asked.memory is wording and by_face_moment(asking.memory) > least:
                yield asking.memory

    def _updated(self, wording: Memory, said: Said, least: Moment) -> Iterator[Memory]:
        """Newer memories in which an update has replaced what this one says."""
        for same in said.forms:
            for newer in self._near & self._sayings.before.get(same, _NOBODY):
                if self._sayings.of(newer).moment > least and self._may_be_one(wording, newer):
                    yield newer

    def _of_one_frame(self, said: Said, least: Moment) -> Iterator[Memory]:
        """Newer memories that say the same except for one value."""
        sayings = self._sayings
        for older in said.forms.values():
            for newer in _NOBODY.union(*(self._near & sayings.by_key[key] for key in older.keys)):
                if sayings.of(newer).moment > least and any(
                    of_one_frame(self._ledger, older, one) for one in sayings.statements_of(newer)
                ):
                    yield newer

    def _wordings_of(self, head: Memory) -> dict[Memory, Said]:
        """A memory and those that may say the same, each with what it says.

        They say the same of the owner in the same words, or have one gist, or are near, with a
        pending question about both.
        """
        found = {head: self._sayings.of(head)}
        last = [head]
        for _ in range(STEPS):
            others = [other for memory in last for other in self._reworded(memory, found[memory])]
            last = [other for other in dict.fromkeys(others) if other not in found]
            found |= {other: self._sayings.of(other) for other in last}
        return found

    def _reworded(self, memory: Memory, said: Said) -> Iterator[Memory]:
        for asking, asked in _questions(self._ledger, memory):
            if _may_reword(asking, asked):
                yield asked.memory if asking.memory is memory else asking.memory
        for same in said.forms:
            for other in self._near & self._sayings.now[same]:
                if other is not memory and self._may_be_one(memory, other):
                    yield other
        yield from self._of_one_gist(memory)

    def _of_one_gist(self, memory: Memory) -> list[Memory]:
        """The near memories that state the same numbers and dates, or else the same words."""
        names = self._sayings.names
        said = kept_saying(memory.text, names).gist
        found = self._near & self._sayings.by_gist.get(said, _NOBODY) if said else _NOBODY
        mine = kept_for_frames(memory.text, names)
        return [
            other
            for other in found - {memory}
            if shares_a_word(mine, kept_for_frames(other.text, names), names)
            and self._may_be_one(memory, other)
        ]

    def _may_be_one(self, one: Memory, other: Memory) -> bool:
        """Whether two memories are of one namespace, and nobody has told them apart."""
        return one.namespace == other.namespace and not told_apart(self._ledger, one, other)


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


def _may_reword(asking: Entry, asked: Entry) -> bool:
    """Whether two entries may say the same in other words."""
    return any(
        n.frame is None and n.candidate_id == asked.id and (n.cosine or 0.0) >= REWORDED
        for n in asking.asked
    )
