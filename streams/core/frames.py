"""Which memories are of one frame, and which of them is the newest (docs/guard.md, Frames).

Nothing is joined by it: the newer may replace the older, add to it, or be about another thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.moment import face_moment
from palimpsest.streams.core.separations import separated_pair
from palimpsest.streams.core.walk import holds
from palimpsest.streams.guard import begins_otherwise, frame, kept_for_frames

MOST = 32
"""Among this many best hits: each is compared with each, and a diary is of one frame."""

Hit = TypeVar("Hit")


def by_frame(hits: Sequence[Hit], same: Callable[[Hit, Hit], bool]) -> list[list[Hit]]:
    """The hits in groups, each at the place of its best; in a group, all are of one frame."""
    groups: list[list[Hit]] = []
    for hit in hits[:MOST]:
        for group in groups:
            if all(same(other, hit) for other in group):
                group.append(hit)
                break
        else:
            groups.append([hit])
    return groups + [[hit] for hit in hits[MOST:]]


def of_one_frame(ledger: Ledger, one: Memory, other: Memory) -> bool:
    """Whether two memories are of one frame, and no judge and no person has told them apart."""
    if one.namespace != other.namespace:
        return False
    reading = kept_for_frames(other.face.text, ledger.names)
    if not ledger.names and begins_otherwise(one.face.text, reading):
        return False
    return (
        frame(kept_for_frames(one.face.text, ledger.names), reading)
        and not (one.former or other.former)
        and not _told_apart(ledger, one, other)
    )


def by_face_moment(memory: Memory) -> tuple[datetime, int]:
    """A sort key: by when the face's text happened; of two at once, by arrival."""
    return face_moment(memory), memory.face.speaker.place


def _told_apart(ledger: Ledger, one: Memory, other: Memory) -> bool:
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
