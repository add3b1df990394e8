"""An owner's decisions after a position, with long polling."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.server.bodies import FedDecision, Feed
from palimpsest.server.problems import ProblemError

NO_NEXT = "`after` should be the `next` of a page of this owner's decisions, or 0"
PAUSE_SECONDS = 0.1
"""Interval between checks of the log's end; all waiting requests share them."""

_ROWS = """
SELECT position, decision_id, candidate_id, joined_to, memory_id, namespace, decision, similarity,
       standing, strftime(decided_at, '%Y-%m-%dT%H:%M:%S.%fZ') AS decided_at
FROM decisions WHERE owner_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?
"""


class Feeds:
    """The requests of this process that wait for new decisions."""

    def __init__(self, store: AsyncPalimpsest) -> None:
        self._store = store
        self._look: asyncio.Task[int] | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """End all waiting."""
        self._ending.set()

    async def after(
        self, owner_id: str, after: int | str, *, limit: int, wait: float, positions: bool
    ) -> Feed:
        """Decisions after a page's `next`; an empty page after `wait` seconds without one.

        Without `positions`, which count the events of all owners, `next` is the id of a decision.
        """
        if not positions and isinstance(after, int) and after:
            raise ProblemError(422, "invalid", NO_NEXT)
        position = await self._store.call(_position_of, owner_id, after)
        until = time.monotonic() + wait
        while True:
            rows, position = await self._store.call(_page, owner_id, position, limit)
            if rows or not await self._wait_past(position, until):
                break
        if positions:
            return Feed(decisions=rows, next=position)
        for row in rows:
            del row["position"]
        return Feed(decisions=rows, next=rows[-1]["decision_id"] if rows else after)

    async def _wait_past(self, position: int, until: float) -> bool:
        """Wait for the log to pass a position; False on timeout or when the server stops."""
        while time.monotonic() < until and not self._ending.is_set():
            if await self._head() > position:
                return True
            try:
                async with asyncio.timeout(PAUSE_SECONDS):
                    await self._ending.wait()
            except TimeoutError:
                pass
        return False

    async def _head(self) -> int:
        """The log's last position, looked up once for all who ask at the same time."""
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(self._store.position())
        return await asyncio.shield(self._look)


def _position_of(store: Palimpsest, owner_id: str, after: int | str) -> int:
    """A position, or that of a decision of the owner; a problem for anything else."""
    if isinstance(after, int):
        return after
    recorded = store.reader.log.find(after)
    if recorded is None or recorded.event.owner_id != owner_id:
        raise ProblemError(422, "invalid", NO_NEXT)
    return recorded.position


def _page(
    store: Palimpsest, owner_id: str, after: int, limit: int
) -> tuple[list[FedDecision], int]:
    """A page, and the position that it reaches.

    Decisions of other processes that are not projected yet are in later pages.
    """
    store.reader.refresh()
    upto = max(store.reader.positions()["duckdb"], after)
    rows = cast("list[FedDecision]", store.sql(_ROWS, [owner_id, after, upto, limit]))
    return rows, rows[-1]["position"] if len(rows) == limit else upto
