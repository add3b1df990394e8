"""Waits for a store's log to grow, without a thread for each waiting task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = 0.1
"""Interval between lookups of the log's last position, which all waiting tasks share."""


class LogWatch:
    """The waiting tasks of this process. `position` looks up the log's last position."""

    def __init__(self, position: Callable[[], Awaitable[int]]) -> None:
        self._position = position
        self._look: asyncio.Future[int] | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """End all waiting."""
        self._ending.set()

    async def past(self, position: int, until: float) -> bool:
        """Wait for the log to pass a position; False at `until` (monotonic), or after `end`."""
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
        """The log's last position; tasks that ask at the same time share one lookup."""
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(self._position())
        return await asyncio.shield(self._look)
