"""Copies of the partitions that other workers have, so that one can be taken over at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from aiokafka.errors import KafkaError

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.cluster.catching_up import CopyFolder
from palimpsest.streams.cluster.copies import let_go
from palimpsest.streams.cluster.copy import WorkerCopy
from palimpsest.streams.cluster.thread import OneThread, is_cancelled

_log = logging.getLogger(__name__)
EVERY_SECONDS = 2.0
"""How old a copy gets before it is filled again: what came meanwhile is what a take-over reads."""


class Standby:
    """Fills copies every two seconds, from `begin` to `end`, on a thread of its own.

    Between two fillings, and after `end`, the copies are closed: one thread has a copy at a time.
    """

    def __init__(self, copies: CopyFolder) -> None:
        self._copies = copies
        self._thread = OneThread("standby")
        self._filling: asyncio.Task[None] | None = None

    def begin(self, partitions: Iterable[int]) -> None:
        """Keep the copies of these partitions filled. `end` has to come before the next `begin`."""
        self._filling = asyncio.create_task(self._keep_filled(sorted(partitions)))

    async def end(self) -> None:
        """Leave the copies as they are, closed."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait([self._filling])
            self._filling = None

    async def _keep_filled(self, partitions: list[int]) -> None:
        is_filled = False
        while partitions and not is_cancelled():  # clients may swallow what cancels them
            try:
                await self._fill(partitions)
                if not is_filled:
                    _log.info("standing by for partitions %s", ", ".join(map(str, partitions)))
                is_filled = True
            except (StoreError, TransientError, KafkaError) as error:
                _log.warning("copies of other workers' partitions fall behind: %s", error)
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
            await asyncio.sleep(EVERY_SECONDS)

    async def _fill(self, partitions: list[int]) -> None:
        logs: dict[int, WorkerCopy] = {}
        why: BaseException | None = None
        try:
            await self._copies.catch_up(partitions, logs, self._thread, lambda *_: None)
        except BaseException as error:
            why = error
            raise
        finally:
            for log in logs.values():
                await self._thread.run(let_go, log, why)
