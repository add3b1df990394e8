"""Files memories under what they say of their owner, so that few are looked at for a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, field

from palimpsest.streams.core.frames import Framed, by_face_moment, framed
from palimpsest.streams.core.ledger import Memory
from palimpsest.streams.guard import kept_saying, kept_statements

MOST_FILED = 4_096
"""Maximum number of memories of an owner that stay filed; each takes about 2 kB."""
Words = tuple[str, ...]


class Said(Struct, eq=False):
    """What a memory says, until an event changes it (`seen`).

    `forms` has what it says now, by its words: one form for texts that differ only in how they call
    the owner. `moment` is when its face happened, `face` is the whole face, and `statements` are
    the face and its clauses, once they have been asked for. `filed` are the sets that it is in.
    """

    seen: int
    moment: tuple[datetime, int]
    face: Framed
    forms: dict[Words, Framed]
    filed: list[set[Memory]]
    statements: list[Framed] = field(default_factory=list)


class Sayings:
    """What memories of a ledger say of an owner with these `names`.

    A memory is filed when it is first near a question, and again once an event has changed it:
    under the words of what it says `now`, of what it said `before` an update, `by_key` under the
    keys of its face's frames, and `by_gist` under its face's gist.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.now: defaultdict[Words, set[Memory]] = defaultdict(set)
        self.before: defaultdict[Words, set[Memory]] = defaultdict(set)
        self.by_key: defaultdict[int, set[Memory]] = defaultdict(set)
        self.by_gist: defaultdict[Words, set[Memory]] = defaultdict(set)
        self._said: dict[Memory, Said] = {}

    @property
    def is_full(self) -> bool:
        """Whether so much is filed that filing should start anew, with what is asked about now."""
        return len(self._said) > MOST_FILED

    def file(self, memories: Iterable[Memory]) -> None:
        """File those of these memories that are new or have changed."""
        for memory in memories:
            said = self._said.get(memory)
            if said is None or said.seen != memory.seen:
                self._file(memory)

    def of(self, memory: Memory) -> Said:
        """What a memory says."""
        said = self._said.get(memory)
        return said if said is not None and said.seen == memory.seen else self._file(memory)

    def statements_of(self, memory: Memory) -> list[Framed]:
        """What the face of a memory states, as a whole and by its clauses."""
        said = self.of(memory)
        if not said.statements:
            _, *clauses = kept_statements(said.face.text, self.names)
            said.statements = [said.face, *(framed(memory, self.names, one) for one in clauses)]
        return said.statements

    def _file(self, memory: Memory) -> Said:
        if (former := self._said.get(memory)) is not None:
            for others in former.filed:
                others.discard(memory)
        names, face = self.names, memory.text
        now, before = _said(memory)
        texts = {kept_saying(text, names).same: text for text in sorted(now)}
        filed = [self.now[same] for same in texts]
        filed += [self.before[kept_saying(text, names).same] for text in before]
        saying = kept_saying(face, names)
        filed += [self.by_key[key] for key in saying.keys]
        filed += [self.by_gist[saying.gist]] if saying.gist else []
        for others in filed:
            others.add(memory)
        said = self._said[memory] = Said(
            memory.seen,
            by_face_moment(memory),
            framed(memory, names, face),
            {same: framed(memory, names, text) for same, text in texts.items()},
            filed,
        )
        return said


def _said(memory: Memory) -> tuple[set[str], set[str]]:
    """The texts of a memory that say what it says now, and those from before an update."""
    if len(memory.members) == 1:
        return {memory.text}, set()  # the usual case
    texts = {entry.text for entry in memory.members if entry.living}
    if any(edge.over is not None or edge.forward is not None for edge in memory.edges()):
        return {memory.text}, texts - {memory.text}
    return {memory.text, *texts}, set()
