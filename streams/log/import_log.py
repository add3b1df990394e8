"""An exported log into an empty one, byte for byte: positions, ids and what waits are the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import decode_exported
from palimpsest.streams.log.damage import Checker, DamagedEventError
from palimpsest.streams.log.log import CHUNK, Lines, Log
from palimpsest.streams.log.verifications import may_ask


def exported_events(lines: Iterable[bytes]) -> Iterator[tuple[AnyEvent, bytes]]:
    """The events of an export with their lines, each checked against those before it.

    StoreError, with the line's number, for one that is no event, or that was changed since: it
    names what no line before it made, or its text is not the one that was hashed.
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
    """Fill an empty log with exported lines, byte for byte, and return how many came.

    All or nothing, in one transaction. UsageError when the log has events already; StoreError, with
    the line's number, for one that is no event, is damaged, or whose id came before. `progress`
    receives the number of lines so far.
    """
    events = exported_events(lines)
    count = 0
    asking: set[str] = set()
    with log.transaction():
        if log.head():
            raise UsageError("only an empty log can be filled by an import")
        while chunk := list(islice(events, CHUNK)):
            _take_over(log, chunk, count)
            asking |= {event.owner_id for event, _ in chunk if may_ask(event)}
            count += len(chunk)
            if progress is not None:
                progress(count)
        log.find_questions(sorted(asking))
    return count


def _take_over(log: Log, events: Lines, before: int) -> None:
    try:
        log.take_over(events)
    except sqlite3.IntegrityError:
        raise StoreError(
            f"an event of lines {before + 1} to {before + len(events)} came before, by its id"
        ) from None
