"""An exported log into an empty one, byte for byte: positions, ids and what waits are the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from itertools import islice

from contracts.errors import StoreError, UsageError
from contracts.wire import decode_exported
from streams.embedded.log import CHUNK, Lines, Log
from streams.embedded.verifications import composes


def import_lines(
    log: Log, lines: Iterable[bytes], progress: Callable[[int], object] | None = None
) -> int:
    """Fill an empty log with exported lines, byte for byte, and return how many came.

    All or nothing, in one transaction. UsageError when the log has events already; StoreError, with
    the line's number, for one that is no event or whose id came before. `progress` is told the
    number of lines so far.
    """
    stripped = (line.removesuffix(b"\n") for line in lines)
    count = 0
    composing: set[str] = set()
    with log.transaction():
        if log.head():
            raise UsageError("only an empty log can be filled by an import")
        while chunk := list(islice(stripped, CHUNK)):
            numbered = enumerate(chunk, start=count + 1)
            events = [(decode_exported(line, number), line) for number, line in numbered]
            _take_over(log, events, count)
            composing |= {event.owner_id for event, _ in events if composes(event)}
            count += len(chunk)
            if progress is not None:
                progress(count)
        log.find_lost_texts(sorted(composing))
    return count


def _take_over(log: Log, events: Lines, before: int) -> None:
    try:
        log.take_over(events)
    except sqlite3.IntegrityError:
        raise StoreError(
            f"an event of lines {before + 1} to {before + len(events)} came before, by its id"
        ) from None
