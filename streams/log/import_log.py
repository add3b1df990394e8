"""Imports an exported log byte for byte, with the same positions, ids and pending questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import decode_exported
from palimpsest.streams.log.damage import Checker, DamagedEventError
from palimpsest.streams.log.log import CHUNK, Log
from palimpsest.streams.log.verifications import may_ask


def exported_events(lines: Iterable[bytes]) -> Iterator[tuple[AnyEvent, bytes]]:
    """The events of an export with their lines, each checked against those before it.

    Raises StoreError, with the line's number, for a line that is not an event, and for one that was
    changed: it names something that no earlier line created, or its text does not match its hash.
    """
    checker = Checker()
    for number, line in enumerate(lines, start=1):
        stripped = line.removesuffix(b"\n")
        event = decode_exported(stripped, number)
        try:
            checker.check(number, event)
        except DamagedEventError as damage:
            raise StoreError(
                f"line {number} {damage.what}: the file was changed or cut; export the log again,"
                " from a store that `palimpsest verify` can read"
            ) from None
        yield event, stripped


def import_lines(
    log: Log, lines: Iterable[bytes], progress: Callable[[int], object] | None = None
) -> int:
    """Fill an empty log with exported lines, byte for byte; returns their number.

    All lines are added in one transaction, or none. Raises UsageError if the log has events;
    StoreError, with the line's number, for a line that is not an event, is damaged, or repeats an
    id. `progress` receives the number of lines so far.
    """
    events = exported_events(lines)
    count = 0
    asking: set[str] = set()
    with log.transaction():
        if log.head():
            raise UsageError("an import can only fill an empty log")
        while chunk := list(islice(events, CHUNK)):
            try:
                log.take_over(chunk)
            except sqlite3.IntegrityError:
                which = f"lines {count + 1} to {count + len(chunk)}"
                raise StoreError(f"one of {which} has the id of an earlier line") from None
            asking |= {event.owner_id for event, _ in chunk if may_ask(event)}
            count += len(chunk)
            if progress is not None:
                progress(count)
        log.find_questions(sorted(asking))
    return count
