"""Waits for a store's log to grow, without a thread for each who waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = 0.1
"""Interval between looks at the log's end; all who wait share them."""


class LogWatch:
    """Those of this process who wait for news. `position` looks up the log's last position."""

    def __init__(self, position: Callable[[], Awaitable[int]]) -> None:
        self._position = position
        self._look: asyncio.Future[int] | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """End all waiting."""
        self._ending.set()

    async def past(self, position: int, until: float) -> bool:
        """Wait for the log to pass a position; False at `until` (monotonic), or when it ends."""
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
            self._look = asyncio.ensure_future(self._position())
        return await asyncio.shield(self._look)
