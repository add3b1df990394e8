"""A feed of all events in pages, with the memories that they changed (docs/http.md, Changes).

A page shows memories as of its end. The feed folds ledgers of its own for that, because the ledgers
that readers share are already at the log's end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import cast

import orjson

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.shown import Change, ChangedMemory, Changes, GoneMemory
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.shown.memory import shown_memory
from palimpsest.projections.shown.timeline import Timeline
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.touched import Touched

MOST_MEMBERS = 5_000
"""A page ends once the memories that it changes have this many members in total."""
MOST_KEPT = 50_000
"""Maximum number of candidates in the ledgers kept for the next pages: about 120 MB.

The latest ledger is kept, however large.
"""
PAGES_KEPT = 32
"""Number of cached pages, shared by the clients that wait for the same one."""

NO_NEXT = "`after` should be the `next` of a page of these changes, or 0 for the first"


class ChangeFeed:
    """The pages of one store's feed."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: OrderedDict[str, list[_Replay]] = OrderedDict()
        self._size = 0
        self._page = lru_cache(PAGES_KEPT)(self._make_page)

    def page(self, owner_id: str | None, after: int | str, limit: int) -> Changes:
        """The changes after the `next` of a page, of one owner or of all; empty at the end.

        UsageError if `after` is beyond the log's end, or no event of the owner's.
        """
        position, head = self.position(owner_id, after), self._reader.log.head()
        return cast("Changes", orjson.loads(self._page(owner_id, position, limit, head)))

    def position(self, owner_id: str | None, after: int | str) -> int:
        """The position after which a page begins: `after`, or that of the event with this id.

        Raises UsageError if it is beyond the log, or the id is unknown or another owner's.
        """
        log = self._reader.log
        if isinstance(after, int):
            if after > (head := log.head()):
                raise UsageError(
                    f"the log ends at position {head}, before {after}: begin again at 0"
                )
            return after
        recorded = log.find(after)
        if recorded is None or owner_id not in (None, recorded.event.owner_id):
            raise UsageError(NO_NEXT)
        return recorded.position

    def _make_page(self, owner_id: str | None, after: int, limit: int, head: int) -> bytes:
        switches = self._reader.log.model_changes(after, head)
        replays: dict[str, _Replay] = {}
        changes: list[Change] = []
        members = 0
        for recorded in islice(self._events(owner_id, after, limit, head), limit):
            owner = recorded.event.owner_id
            if owner not in replays:
                replays[owner] = self._take_replay(owner, after)
            replays[owner].catch_up(switches, recorded.position)
            change, more = replays[owner].note(recorded)
            changes.append(change)
            members += more
            if members >= MOST_MEMBERS:
                break
        is_full = len(changes) == limit or members >= MOST_MEMBERS
        end = changes[-1]["position"] if is_full else head
        page = Changes(
            changes=changes,
            memories=[memory for replay in replays.values() for memory in replay.memories()],
            gone=[memory for replay in replays.values() for memory in replay.gone()],
            next=end,
        )
        for replay in replays.values():
            self._keep(replay)
        return orjson.dumps(page)

    def _events(
        self, owner_id: str | None, after: int, limit: int, head: int
    ) -> Iterator[Recorded]:
        log = self._reader.log
        if owner_id is not None:
            events = log.of_owner(owner_id, after=after, upto=head, chunk=limit)
            return (recorded for recorded in events if recorded.event.owner_id == owner_id)
        return (recorded for recorded in log.after(after, limit) if recorded.position <= head)

    def _take_replay(self, owner_id: str, after: int) -> _Replay:
        """Take the nearest kept replay of an owner, and continue it to a position."""
        kept = self._kept.get(owner_id, [])
        before = [replay for replay in kept if replay.position <= after]
        if before:
            replay = max(before, key=lambda one: one.position)
            kept.remove(replay)
            self._size -= replay.size
        else:
            replay = _Replay(owner_id)
        for recorded in self._reader.log.of_owner(owner_id, after=replay.position, upto=after):
            replay.follow(recorded)
        return replay

    def _keep(self, replay: _Replay) -> None:
        kept = self._kept.setdefault(replay.ledger.owner_id, [])
        if all(other.position != replay.position for other in kept):
            replay.rest()
            kept.append(replay)
            self._size += replay.size
        self._kept.move_to_end(replay.ledger.owner_id)
        while self._size > MOST_KEPT and (len(self._kept) > 1 or len(kept) > 1):
            owner_id, oldest = next(iter(self._kept.items()))
            self._size -= sum(other.size for other in oldest[:1])
            del oldest[:1]
            if not oldest:
                del self._kept[owner_id]


class _Replay:
    """An owner's ledger as of `position`, and the memories that the current page has changed."""

    def __init__(self, owner_id: str) -> None:
        self.ledger = Ledger(owner_id)
        self.position = 0
        self.size = 0
        self._timeline = Timeline()
        self._touched: set[str] = set()

    def note(self, recorded: Recorded) -> tuple[Change, int]:
        """Fold an event of the page; returns what it did, and how many members the page gains."""
        happened, touched = self.follow(recorded)
        more = _changed(touched).difference(self._touched)
        self._touched |= more
        return happened, sum(len(self.ledger.entries[one].memory.members) for one in more)

    def catch_up(self, switches: Sequence[Recorded], position: int) -> None:
        """Fold the store's own events before a position: they are about every owner's vectors."""
        for recorded in switches:
            if self.position < recorded.position < position:
                self.follow(recorded)

    def follow(self, recorded: Recorded) -> tuple[Change, Touched]:
        """Fold an event; returns what it did, and what it touched."""
        entry = self._timeline.note(recorded)
        self.position = recorded.position
        happened = cast("Change", {**entry.event, "owner_id": self.ledger.owner_id})
        return happened, evolve(self.ledger, recorded.event)

    def rest(self) -> None:
        """Forget this page's changes, to be ready for the next page."""
        self.size = 1 + len(self.ledger.entries)
        self._touched.clear()

    def memories(self) -> Iterator[ChangedMemory]:
        """The changed memories that `list` shows."""
        for memory_id in sorted(self._touched):
            memory = self.ledger.entries[memory_id].memory
            if _is_listed(memory, memory_id):
                shown = shown_memory(memory)
                yield cast("ChangedMemory", {**shown, "owner_id": self.ledger.owner_id})

    def gone(self) -> Iterator[GoneMemory]:
        """The changed memories that `list` does not show, or no longer shows."""
        for memory_id in sorted(self._touched):
            if not _is_listed(self.ledger.entries[memory_id].memory, memory_id):
                yield GoneMemory(owner_id=self.ledger.owner_id, memory_id=memory_id)


def _is_listed(memory: Memory, memory_id: str) -> bool:
    return memory.id == memory_id and memory.living and not memory.former


def _changed(touched: Touched) -> set[str]:
    """The ids of the memories that an event changed, and of those that their updates may displace.

    Whether an update displaces another memory depends on the memory that the update is in.
    """
    memories = [memory for memory in touched.memories.values() if memory is not None]
    edges = (edge for memory in memories for entry in memory.members for edge in entry.edges)
    return {*touched.memories, *(edge.over.memory.id for edge in edges if edge.over is not None)}


def without_positions(page: Changes, after: int | str) -> Changes:
    """A page for an agent, with ids of events: positions would show how much other owners write."""
    changes = page["changes"]
    return {
        **page,
        "changes": [
            cast("Change", {name: value for name, value in one.items() if name != "position"})
            for one in changes
        ],
        "next": changes[-1]["event_id"] if changes else after,
    }


def of_owners(page: Changes, is_meant: Callable[[str], bool]) -> Changes:
    """The part of a page that is about some owners."""
    return {
        "changes": [one for one in page["changes"] if is_meant(one["owner_id"])],
        "memories": [one for one in page["memories"] if is_meant(one["owner_id"])],
        "gone": [one for one in page["gone"] if is_meant(one["owner_id"])],
        "next": page["next"],
    }
