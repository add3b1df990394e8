"""The facade for asyncio: the same calls, awaited; concurrent submits share one commit."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from palimpsest import (
    AsyncPalimpsest,
    InvalidInputError,
    Palimpsest,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.api import asynchronous
from palimpsest.api.offers import Offer
from palimpsest.streams.write.inputs import Input, Outcome, Submission
from tests.palimpsest.api.test_wrong_calls import in_child

HERE = {"agent", "audits", "open", "close", "folder", "import_log", "reader", "turn", "writer"}
"""Parts of the facade that are no calls of the twin: the store's own are at `twin.store`."""

Used = Callable[[AsyncPalimpsest], Coroutine[Any, Any, None]]


def use(folder: Path, used: Used) -> None:
    """Run a coroutine on an open store."""

    async def run() -> None:
        async with await AsyncPalimpsest.open(folder, by="person") as twin:
            await used(twin)

    asyncio.run(run())


def note(number: int) -> dict[str, str]:
    return {"owner_id": "ada", "text": f"note {number} says {number}"}


class Windows:
    """The number of candidates in each commit; the first waits until it may continue."""

    def __init__(self, twin: AsyncPalimpsest) -> None:
        self.sizes: list[int] = []
        self.go = threading.Event()
        self._begun = threading.Event()
        self._submit = twin.store.writer.submit

    def submit(self, inputs: Sequence[Input]) -> list[Outcome]:
        self.sizes.append(len(inputs))
        self._begun.set()
        self.go.wait(10)
        return self._submit(inputs)

    async def have_begun(self) -> None:
        """Wait for the first commit."""
        assert await asyncio.to_thread(self._begun.wait, 10)


def bare(fields: dict[str, str]) -> dict[str, Any]:
    return fields


def as_event(fields: dict[str, str]) -> dict[str, Any]:
    kind = "palimpsest.candidate.v1"
    return {"specversion": "1.0", "type": kind, "id": str(uuid4()), "source": "s", "data": fields}


@pytest.mark.parametrize("form", [bare, as_event])
def test_owners_take_turns(
    form: Callable[[dict[str, str]], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A caller waits for at most one of another owner's batches, not for all of them."""
    monkeypatch.setattr(asynchronous, "WINDOW_BYTES", 100)

    def batch(owner: str, number: int, rows: int) -> list[dict[str, str]]:
        return [{"owner_id": owner, "text": f"note {number} says {row}"} for row in range(rows)]

    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        offered = [*(batch("ada", n, 8) for n in range(4)), batch("bob", 0, 1), batch("bob", 1, 2)]
        with patch.object(twin.store.writer, "submit", windows.submit):
            asked = [asyncio.ensure_future(twin.submit(map(form, rows))) for rows in offered]
            await windows.have_begun()
            windows.go.set()
            await asyncio.gather(*asked)
        assert windows.sizes == [8, 1 + 2, 8, 8, 8]
        decided = await twin.decisions(limit=100)
        assert [one["owner_id"] for one in decided] == ["ada"] * 8 + ["bob"] * 3 + ["ada"] * 24
        said = [(await twin.show_candidate(str(one["candidate_id"])))["text"] for one in decided]
        assert said[11:] == [row["text"] for rows in offered[1:4] for row in rows]

    use(tmp_path / "store", used)


def test_every_call_of_the_facade_has_its_twin() -> None:
    own = {name for name in dir(Palimpsest) if not name.startswith("_")}
    twins = {name for name in vars(AsyncPalimpsest) if not name.startswith("_")}
    assert own - HERE - twins == set()
    assert AsyncPalimpsest.recall.__doc__ == Palimpsest.recall.__doc__


def test_it_does_what_the_facade_does(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        [first] = await twin.submit(note(1))
        [again] = await twin.submit(note(1))
        assert first.candidate_id
        assert (first.decision, again.decision) == ("stored", "hash_exact")
        [memory] = await twin.recall("ada", "note 1", k=3)
        assert memory["memory_id"] == first.candidate_id
        [other] = await twin.submit(note(2))
        joined = await twin.merge(str(first.candidate_id), str(other.candidate_id))
        done = await twin.unmerge(decision_id=joined["decision_id"], dry_run=True)
        assert len(done["memories"]) == 2
        assert await twin.position() == twin.store.position
        assert (await twin.policy()).name == "standard"
        assert await twin.call(lambda store: store.status()["memories"]) == 1
        turns: list[int] = []

        def twice(_: Palimpsest, number: int) -> None:
            turns.append(number)
            time.sleep(0.001)
            turns.append(number)

        await asyncio.gather(*(twin.call(twice, number) for number in range(5)))
        assert [sorted(turns)[::2], turns[::2]] == [[0, 1, 2, 3, 4], turns[1::2]]

    use(tmp_path / "store", used)


def test_what_tasks_submit_meanwhile_is_one_commit_and_each_gets_its_own(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        with patch.object(twin.store.writer, "submit", windows.submit):
            asked = [asyncio.ensure_future(twin.submit(note(n), source=f"s{n}")) for n in range(9)]
            await windows.have_begun()
            windows.go.set()
            found = await asyncio.gather(*asked)
        assert sum(windows.sizes) == 9
        assert len(windows.sizes) <= 2  # the first took what it found, the second all the rest
        for n, [outcome] in enumerate(found):
            shown = await twin.show_candidate(str(outcome.candidate_id))
            assert (shown["text"], shown["source"]) == (note(n)["text"], f"s{n}")

    use(tmp_path / "store", used)


def test_who_submits_more_than_a_window_has_waits_for_nobody_else(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        async with asyncio.timeout(60):
            found = await twin.submit([note(n) for n in range(5)])
        assert [one.result for one in found] == ["decided"] * 5

    with patch("palimpsest.api.asynchronous.WINDOW", 4):
        use(tmp_path / "store", used)


def test_a_commit_has_as_many_as_it_holds_and_no_offer_is_in_two(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        with patch.object(twin.store.writer, "submit", windows.submit):
            first = asyncio.ensure_future(twin.submit(note(0)))
            await windows.have_begun()
            offers = ([note(1), note(2), note(3)], [note(4)], [note(5)], [note(6)] * 4)
            others = [asyncio.ensure_future(twin.submit(offer)) for offer in offers]
            await asyncio.sleep(0)
            windows.go.set()
            await asyncio.gather(first, *others)
        assert windows.sizes == [1, 4, 1, 4]

    with patch("palimpsest.api.asynchronous.WINDOW", 4):
        use(tmp_path / "store", used)


def test_an_unreadable_candidate_keeps_its_own_submission_out_and_no_other(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        blank = {**note(9), "text": " "}
        with patch.object(twin.store.writer, "submit", windows.submit):
            first = asyncio.ensure_future(twin.submit(note(0)))
            await windows.have_begun()
            others = [
                asyncio.ensure_future(twin.submit([note(1), blank])),
                asyncio.ensure_future(twin.submit([note(2), blank], invalid="collect")),
                asyncio.ensure_future(twin.submit(note(3))),
            ]
            windows.go.set()
            await first
            raised, collected, three = await asyncio.gather(*others, return_exceptions=True)
        assert isinstance(raised, InvalidInputError)
        assert (raised.index, raised.detail) == (1, "text: is blank")
        assert isinstance(collected, list)
        assert [one.result for one in collected] == ["decided", "invalid"]
        assert isinstance(three, list)
        assert windows.sizes == [1, 3], "still one commit"
        assert (await twin.status())["candidates"] == 3

    use(tmp_path / "store", used)


def test_a_wrong_argument_of_its_own_is_a_usage_error(tmp_path: Path) -> None:
    wrong: list[Any] = [-1, "soon"]

    async def used(twin: AsyncPalimpsest) -> None:
        for wait in wrong:
            with pytest.raises(UsageError, match="wait"):
                await twin.changes(wait=wait)

    async def opened(threads: Any) -> None:
        await AsyncPalimpsest.open(tmp_path / "store", threads=threads)

    use(tmp_path / "store", used)
    for threads in wrong:
        with pytest.raises(UsageError, match="threads"):
            asyncio.run(opened(threads))


def test_a_wrong_call_is_nobody_elses_trouble(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        with patch.object(twin.store.writer, "submit", windows.submit):
            first = asyncio.ensure_future(twin.submit(note(0)))
            await windows.have_begun()
            others = [
                asyncio.ensure_future(twin.submit(note(1))),
                asyncio.ensure_future(twin.submit("no mapping")),  # type: ignore[arg-type]
                asyncio.ensure_future(twin.submit(note(2), source="")),
                asyncio.ensure_future(twin.submit([note(3), note(4)])),
                asyncio.ensure_future(twin.submit([note(5), {**note(6), "text": " "}])),
            ]
            windows.go.set()
            await first
            found = await asyncio.gather(*others, return_exceptions=True)
        one, no_mapping, no_source, two, unreadable = found
        assert isinstance(no_mapping, UsageError)
        assert "`candidates`" in str(no_mapping)
        assert isinstance(unreadable, InvalidInputError)
        assert isinstance(no_source, UsageError)
        assert isinstance(one, list)
        assert isinstance(two, list)
        assert [len(one), len(two)] == [1, 2]
        assert (await twin.status())["candidates"] == 4

    use(tmp_path / "store", used)


@pytest.mark.parametrize("error", [StoreError, TransientError])
def test_a_failing_store_is_reported_to_all_and_not_tried_again(
    error: type[Exception], tmp_path: Path
) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        tried: list[int] = []
        begun, go = threading.Event(), threading.Event()

        def fail(inputs: Sequence[Input]) -> list[Outcome]:
            tried.append(len(inputs))
            begun.set()
            go.wait(10)
            raise error("the disk is full")

        with patch.object(twin.store.writer, "submit", fail):
            asked = [asyncio.ensure_future(twin.submit(note(n))) for n in range(5)]
            await asyncio.to_thread(begun.wait, 10)
            go.set()
            found = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(one, error) for one in found)
        assert sum(tried) == 5
        await twin.submit(note(1))

    use(tmp_path / "store", used)


def test_cancelled_before_its_turn_it_is_never_made_and_after_that_it_stays(tmp_path: Path) -> None:
    async def used(twin: AsyncPalimpsest) -> None:
        windows = Windows(twin)
        with patch.object(twin.store.writer, "submit", windows.submit):
            begun = asyncio.ensure_future(twin.submit(note(0)))
            await windows.have_begun()
            waiting = asyncio.ensure_future(twin.submit(note(1)))
            await asyncio.sleep(0)
            for task in (begun, waiting):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            windows.go.set()
            await twin.submit(note(2))
        faces = {one["face"] for one in await twin.recall("ada", "note", k=9)}
        assert faces == {note(0)["text"], note(2)["text"]}

    use(tmp_path / "store", used)


def test_closed_it_says_so_and_what_waits_is_cancelled(tmp_path: Path) -> None:
    async def used() -> None:
        twin = await AsyncPalimpsest.open(tmp_path / "store", by="person")
        windows = Windows(twin)
        with patch.object(twin.store.writer, "submit", windows.submit):
            begun = asyncio.ensure_future(twin.submit(note(0)))
            await windows.have_begun()
            waiting = asyncio.ensure_future(twin.submit(note(1)))
            await asyncio.sleep(0)
            closing = asyncio.ensure_future(twin.close())
            await asyncio.sleep(0)
            windows.go.set()
            await closing
        assert (await begun)[0].decision == "stored"
        with pytest.raises(asyncio.CancelledError):
            await waiting
        for call in (twin.submit(note(2)), twin.status()):
            with pytest.raises(UsageError, match="closed"):
                await call

    asyncio.run(used())


def test_an_offer_that_was_named_while_the_store_was_closed_waits_for_nothing(
    tmp_path: Path,
) -> None:
    """No thread would take its window up: those that wait are cancelled."""
    go = threading.Event()

    async def used() -> None:
        twin = await AsyncPalimpsest.open(tmp_path / "store", threads=1, by="person")
        name = twin._name
        closing: list[asyncio.Task[None]] = []

        async def closed_meanwhile(*named: Any) -> bool:
            is_new = await name(*named)
            twin._threads.submit(go.wait, 10)
            closing.append(asyncio.create_task(twin.close()))
            await asyncio.sleep(0)
            return is_new

        submission = Submission(str(uuid4()), "", 1)
        with patch.object(twin, "_name", closed_meanwhile):
            offer = twin.offer(Offer([note(0)], submission=submission))
            with pytest.raises(UsageError, match="closed"):
                await asyncio.wait_for(offer, 5)
        go.set()
        await closing[0]

    asyncio.run(used())


def test_closed_it_never_makes_a_call_that_no_thread_took_up(tmp_path: Path) -> None:
    begun, go, made = threading.Event(), threading.Event(), list[str]()

    def first(_: Palimpsest) -> None:
        begun.set()
        go.wait(10)
        made.append("first")

    async def used() -> None:
        twin = await AsyncPalimpsest.open(tmp_path / "store", threads=1, by="person")
        taken = asyncio.ensure_future(twin.call(first))
        await asyncio.to_thread(begun.wait, 10)
        waiting = asyncio.ensure_future(twin.call(lambda _: made.append("second")))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(twin.close())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go.set()
        await closing
        await taken

    asyncio.run(used())
    assert made == ["first"]


@pytest.mark.filterwarnings("ignore")  # of forking beside threads: that is what happens to people
def test_in_a_forked_child_nobody_waits_for_ever(memories: Palimpsest) -> None:
    twin = AsyncPalimpsest(memories)
    assert asyncio.run(twin.position()) == 0

    def use() -> list[str]:
        refused = []
        for call in (twin.position, lambda: twin.submit({"owner_id": "ada", "text": "She sails."})):
            with pytest.raises(UsageError) as said:
                asyncio.run(call())
            refused.append(str(said.value))
        asyncio.run(twin.close())
        return refused

    for said in in_child(use):
        assert "open stores after the fork" in said
    asyncio.run(twin.close())
