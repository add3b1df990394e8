"""For owners with names, finds memories that may replace another one (docs/guard.md, Frames).

These are found by frames, and by pending questions to the judge. The result only orders hits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from palimpsest.streams.core.frames import (
    Framed,
    by_face_moment,
    framed,
    of_one_frame,
    told_apart,
)
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import (
    is_note,
    kept_frame_keys,
    kept_reading,
    kept_saying,
    kept_statements,
    kept_subject,
)

STEPS = 2
"""Maximum number of questions between a memory and another wording of it; more would stray."""
Words = tuple[str, ...]

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
        near = [*heads, *further]
        self._saying: defaultdict[Words, list[Memory]] = defaultdict(list)
        self._said_before: defaultdict[Words, list[Memory]] = defaultdict(list)
        faces: list[tuple[Memory, str, frozenset[int]]] = []
        for memory in near:
            text = memory.text
            same, keys = kept_saying(text, names)
            faces.append((memory, text, keys))
            self._saying[same].append(memory)
            if len(memory.members) > 1:
                self._add_others(memory, text)
        self._wordings = {head.id: self._wordings_of(head) for head in heads}
        wanted = {
            key
            for wordings in self._wordings.values()
            for forms in wordings.values()
            for older in forms.values()
            for key in older.keys
        }
        self._by_key: dict[int, list[tuple[Memory, str]]] = {}
        for memory, text, keys in faces:
            if not wanted.isdisjoint(keys):  # rarely
                for statement in kept_statements(text, names):
                    for key in wanted.intersection(kept_frame_keys(statement, names)):
                        self._by_key.setdefault(key, []).append((memory, statement))

    def _add_others(self, memory: Memory, face: str) -> None:
        """File a memory under its further texts."""
        for texts, by_saying in zip(_said(memory), (self._saying, self._said_before), strict=True):
            for text in texts - {face}:
                by_saying[kept_saying(text, self._names).same].append(memory)

    def of(self, head: Memory) -> set[str]:
        """The ids of the memories that may replace this one, or another wording of it.

        Each is newer than both, and one of these: a memory whose question to the judge asks whether
        it is a change or another value; a given memory in which an update has replaced what the
        older one says; or a given memory that says the same except for one value.
        """
        since = by_face_moment(head)
        found = set[str]()
        for wording, forms in self._wordings[head.id].items():
            least = max(since, by_face_moment(wording))
            found |= {
                asking.memory.id
                for asking, asked in _questions(self._ledger, wording)
                if asked.memory is wording
                and _asks_by_frame(asking, asked)
                and by_face_moment(asking.memory) > least
            }
            found |= {
                newer.id
                for same in forms
                for newer in self._said_before.get(same, ())
                if by_face_moment(newer) > least and self._may_be_one(wording, newer)
            }
            for older in forms.values():
                mates = {mate for key in older.keys for mate in self._by_key.get(key, ())}
                found |= {
                    newer.id
                    for newer, statement in mates
                    if by_face_moment(newer) > least
                    and of_one_frame(self._ledger, older, framed(newer, self._names, statement))
                }
        return found

    def _wordings_of(self, head: Memory) -> dict[Memory, dict[Words, Framed]]:
        """A memory and those that may say the same, each with what it says, by its words.

        They say the same of the owner in the same words, or are near, with a pending question about
        both.
        """
        found = {head: self._forms(head)}
        new = [head]
        for _ in range(STEPS):
            steps, new = new, []
            for memory in steps:
                others = [
                    asked.memory if asking.memory is memory else asking.memory
                    for asking, asked in _questions(self._ledger, memory)
                    if _may_reword(asking, asked)
                ]
                others += [
                    other
                    for same in found[memory]
                    for other in self._saying.get(same, ())
                    if other is not memory and self._may_be_one(memory, other)
                ]
                for other in others:
                    if other not in found:
                        found[other] = self._forms(other)
                        new.append(other)
        return found

    def _may_be_one(self, one: Memory, other: Memory) -> bool:
        """Whether two memories are of one namespace, and nobody has told them apart."""
        return one.namespace == other.namespace and not told_apart(self._ledger, one, other)

    def _forms(self, memory: Memory) -> dict[Words, Framed]:
        """What a memory says now: one form of texts that only call the owner otherwise."""
        texts = {kept_saying(text, self._names).same: text for text in sorted(_said(memory)[0])}
        return {same: framed(memory, self._names, text) for same, text in texts.items()}


def _said(memory: Memory) -> tuple[set[str], set[str]]:
    """The texts of a memory that say what it says now, and those from before an update."""
    if len(memory.members) == 1:
        return {memory.text}, set()  # the usual case
    texts = {entry.text for entry in memory.members if entry.living}
    if any(edge.over is not None or edge.forward is not None for edge in memory.edges()):
        return {memory.text}, texts - {memory.text}
    return {memory.text, *texts}, set()


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
