"""A token bucket: calls begin at a rate, with a short burst."""

from __future__ import annotations

import asyncio


class TokenBucket:
    """Fills at `rate` tokens a second and holds a second's worth; each call takes one."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._tokens = self._holds = max(1.0, rate)
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """Take a token at a moment (seconds of any clock); returns the seconds until it is there.

        Who comes later waits behind whoever is waiting.
        """
        if self._at is not None:
            filled = self._tokens + max(0.0, now - self._at) * self._rate
            self._tokens = min(self._holds, filled)
        self._at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    async def take(self) -> None:
        """Wait until a call may begin."""
        seconds = self.wait(asyncio.get_running_loop().time())
        if seconds:
            await asyncio.sleep(seconds)
