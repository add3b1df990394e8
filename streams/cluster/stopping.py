"""Waiting for something until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class StoppedError(Exception):
    """What was being done is given up, because whoever wanted it was told to stop."""


async def unless(stop: asyncio.Event, doing: Coroutine[Any, Any, Result]) -> Result:
    """Do something, but give it up when `stop` is set before it is done: StoppedError then."""
    task, told = asyncio.ensure_future(doing), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled() and stop.is_set():
        raise StoppedError
    return task.result()
