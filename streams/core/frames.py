"""Which memories share a frame, and which of them is the newest (docs/guard.md, Frames).

Frames join nothing: the newer memory may replace the older, add to it, or be about something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.moment import face_moment
from palimpsest.streams.core.separations import separated_pair
from palimpsest.streams.core.walk import holds
from palimpsest.streams.guard import (
    Reading,
    kept_for_frames,
    kept_frame,
    kept_frame_keys,
)

MOST = 32
"""Only this many hits, the best ones, are grouped: each pair of them may have to be compared."""

Hit = TypeVar("Hit")


def by_frame(hits: Sequence[Hit], same: Callable[[Hit, Hit], bool]) -> list[list[Hit]]:
    """The hits in groups, each at the place of its best hit; all hits of a group share a frame."""
    groups: list[list[Hit]] = []
    for hit in hits[:MOST]:
        for group in groups:
            if same(group[0], hit) and all(same(other, hit) for other in group[1:]):
                group.append(hit)
                break
        else:
            groups.append([hit])
    return groups + [[hit] for hit in hits[MOST:]]


class Framed(Struct, eq=False):
    """A memory in the form that frames compare: one of its texts, and its keys.

    A text is read only when needed, because most pairs share no key.
    """

    memory: Memory
    text: str
    names: tuple[str, ...]
    keys: frozenset[int]

    @property
    def reading(self) -> Reading:
        """The text as frames compare it."""
        return kept_for_frames(self.text, self.names)


def framed(memory: Memory, names: tuple[str, ...], text: str | None = None) -> Framed:
    """A memory in the form that frames compare: by one of its wordings, or else by its face."""
    text = memory.text if text is None else text
    return Framed(memory, text, names, frozenset(kept_frame_keys(text, names)))


def of_one_frame(ledger: Ledger, one: Framed, other: Framed) -> bool:
    """Whether two memories share a frame, and nobody has told them apart."""
    return (
        not one.keys.isdisjoint(other.keys)  # most pairs share none
        and one.memory.namespace == other.memory.namespace
        and kept_frame(one.text, other.text, one.names)
        and not (one.memory.former or other.memory.former)
        and not told_apart(ledger, one.memory, other.memory)
    )


def by_face_moment(memory: Memory) -> tuple[datetime, int]:
    """A sort key: by when the face's text happened, then by arrival."""
    speaker = memory.members[0] if len(memory.members) == 1 else memory.face.speaker
    return face_moment(memory), speaker.place


def told_apart(ledger: Ledger, one: Memory, other: Memory) -> bool:
    """Whether two memories are separated, or a judge has said that they differ."""
    if separated_pair(ledger, one, other) is not None:
        return True
    return any(
        given.verdict.answer == "different" and holds(ledger, given)
        for asking, asked in ((one, other), (other, one))
        for entry in asking.members
        for neighbour_id, answers in entry.answers.items()
        if ledger.entries[neighbour_id].memory is asked
        for given in answers
    )
