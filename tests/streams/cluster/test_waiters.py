"""Coroutines are woken when what they wait for holds, and not before."""

from __future__ import annotations

import asyncio

from palimpsest.streams.cluster.tasks import Waiters


def test_only_those_wake_for_which_it_holds() -> None:
    async def run() -> None:
        waiters, there, asked = Waiters(), set[str](), list[str]()

        def holds(what: str) -> bool:
            asked.append(what)
            return what in there

        async def wait(what: str) -> None:
            await waiters.until(lambda: holds(what))

        first, second = (asyncio.create_task(wait(what)) for what in ("a", "b"))
        await asyncio.sleep(0)
        asked.clear()
        there.add("b")
        waiters.check()
        await second
        assert not first.done()
        assert asked == ["a", "b", "b"], "the first was not woken to look for itself"
        there.add("a")
        waiters.check()
        await first

    asyncio.run(run())


def test_who_is_cancelled_waits_no_longer_and_others_do() -> None:
    async def run() -> None:
        waiters, there = Waiters(), list[str]()
        first, second = (asyncio.create_task(waiters.until(lambda: bool(there))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        there.append("it")
        waiters.check()
        await asyncio.wait([first, second])
        assert first.cancelled()
        assert second.done()
        waiters.check()

    asyncio.run(run())


def test_what_no_longer_holds_when_it_wakes_is_waited_for_again() -> None:
    async def run() -> None:
        waiters, there = Waiters(), ["it"]
        waiting = asyncio.create_task(waiters.until(lambda: not there))
        await asyncio.sleep(0)
        there.clear()
        waiters.check()
        there.append("another")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        there.clear()
        waiters.check()
        await waiting

    asyncio.run(run())
