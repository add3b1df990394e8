"""What is asked twice at once is asked once: who comes later gets the answer that is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Answer = TypeVar("Answer")


@dataclass(slots=True)
class _UnderWay(Generic[Answer]):
    asking: asyncio.Task[Answer]
    waiting: int = 0


class Sharing(Generic[Answer]):
    """What is being asked at the moment, by its key; of one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _UnderWay[Answer]] = {}

    async def answer(
        self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, Answer]]
    ) -> tuple[Answer, bool]:
        """The answer, and whether it is shared: then another had asked, and has paid for it.

        It is given up when nobody waits for it any more.
        """
        found = self._under_way.get(key)
        shared = found is not None
        if found is None:
            found = self._under_way[key] = _UnderWay(asyncio.create_task(ask()))
        found.waiting += 1
        try:
            return await asyncio.shield(found.asking), shared
        finally:
            found.waiting -= 1
            if not found.waiting:
                del self._under_way[key]
                found.asking.cancel()
