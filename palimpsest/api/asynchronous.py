"""The facade for `asyncio`: the calls of `Palimpsest` as coroutines (docs/python.md).

A store's calls take turns, so more than a few threads would only wait. Candidates that several
tasks submit at the same time are decided on as one window: they are embedded together, and share
one commit.
"""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, update_wrapper
from threading import Lock
from typing import Annotated, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from pydantic import Field

from palimpsest.api.calls import CLOSED
from palimpsest.api.log_watch import LogWatch
from palimpsest.api.offers import IfInvalid, Offer, fields_of
from palimpsest.api.reads import Position, Seconds
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.answers import result_or_refusal
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import (
    InvalidInputError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.shown import Changes
from palimpsest.process.parameters import check_arguments, made_by
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.write.inputs import OTHER_REQUEST, Outcome, Submission
from palimpsest.streams.write.windows import WINDOW_BYTES

THREADS = 8
"""Threads per store; calls beyond this number wait in order of arrival."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class AsyncMethod(Generic[Arguments, Result]):
    """Makes a coroutine method of the asynchronous class out of a method of the facade."""

    def __init__(self, method: Callable[Concatenate[Palimpsest, Arguments], Result]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, twin: None, kind: type[AsyncPalimpsest]) -> Self: ...

    @overload
    def __get__(
        self, twin: AsyncPalimpsest, kind: type[AsyncPalimpsest]
    ) -> Callable[Arguments, Coroutine[Any, Any, Result]]: ...

    def __get__(self, twin: AsyncPalimpsest | None, kind: type[AsyncPalimpsest]) -> Any:
        if twin is None:
            return self

        async def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return await twin.call(self._method, *args, **kwargs)

        return update_wrapper(call, self._method)


def _read(name: str) -> Callable[[Palimpsest], Any]:
    """A property of the facade as a method."""
    read: property = getattr(Palimpsest, name)
    assert read.fget is not None
    return read.fget


class AsyncPalimpsest:
    """An open store for tasks of `asyncio`, with the methods of `Palimpsest`, each awaited.

    It lacks `agent`, `audits` and `import_log`. `Palimpsest`'s properties are methods here: `await
    store.position()`. A server extracts memories from its clients' conversations with the model of
    `judge`.

    If a call is cancelled before a thread starts it, it is never made. A call that has started runs
    to its end, and what it writes stays. To learn its result, repeat it with the same `id`, which
    is idempotent.
    """

    @made_by("open a store by `await AsyncPalimpsest.open`")
    def __init__(
        self, store: Palimpsest, *, threads: int = THREADS, judge: JudgeSettings | None = None
    ) -> None:
        self.store = store
        self.judge = judge
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="palimpsest")
        self._windows = _Windows(store, self._threads)
        self.watch = LogWatch(self.position)
        self._closed = False

    @classmethod
    @check_arguments
    async def open(
        cls, *args: Any, threads: Annotated[int, Field(ge=1)] = THREADS, **kwargs: Any
    ) -> Self:
        """Open a store, as `Palimpsest.open` does; `threads` limits the concurrent calls."""
        return cls(await asyncio.to_thread(Palimpsest.open, *args, **kwargs), threads=threads)

    async def call(
        self,
        method: Callable[Concatenate[Palimpsest, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Call a function with the store on one of the threads; returns its result.

        Use it to make several calls of the facade in one turn, without other calls in between.
        """
        self.require()
        made = self._threads.submit(self._in_turn, partial(method, self.store, *args, **kwargs))
        return await asyncio.wrap_future(made)

    def _in_turn(self, made: Callable[[], Result]) -> Result:
        with self.store.turn.lock:
            return made()

    def require(self) -> None:
        """Raise UsageError if the store is closed, or in a forked child, which has no threads."""
        if self._closed:
            raise UsageError(CLOSED)
        self.store.turn.require()

    async def submit(
        self,
        candidates: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        source: str = "python",
        invalid: IfInvalid = "raise",
    ) -> builtins.list[Outcome]:
        """Like `Palimpsest.submit`; candidates of other tasks share the same commit."""
        return await self.offer(Offer(candidates, source, invalid))

    async def offer(self, offer: Offer) -> builtins.list[Outcome]:
        """Like `submit`, for a request that may have an id: a repeat gets the first answer."""
        self.require()
        waiting = _Waiting(offer)
        if offer.submission is not None and not await self._name(offer.submission, waiting.owners):
            return [OTHER_REQUEST] * waiting.rows
        self.require()  # it may have been closed meanwhile
        return await asyncio.wrap_future(self._windows.put(waiting))

    async def _name(self, submission: Submission, owners: set[str]) -> bool:
        """Record a submission unless its rows' commit does; False if its id was used for another.

        No thread waits, so an owner whose partition has no worker does not delay other owners.
        """
        owner_id = min(owners, default="")
        named = await self.call(lambda store: store.writer.name(submission, owner_id))
        if named is None:
            return True
        return not isinstance(result_or_refusal(await asyncio.wrap_future(named)), RefusedError)

    async def add(self, *args: Any, **kwargs: Any) -> builtins.list[Outcome]:
        """Like `Palimpsest.add`; other calls may run while the judge answers."""
        self.require()
        made = self._threads.submit(partial(self.store.add, *args, **kwargs))
        return await asyncio.wrap_future(made)

    @check_arguments
    async def changes(
        self,
        owner_id: str | None = None,
        *,
        after: Position | Name = 0,
        limit: int = 100,
        wait: Seconds = 0,
    ) -> Changes:
        """Like `Palimpsest.changes`; no thread waits."""
        until = time.monotonic() + wait
        while True:
            page = await self.call(Palimpsest.changes, owner_id, after=after, limit=limit)
            after = page["next"]
            if page["changes"] or not await self.watch.past(int(after), until):
                return page

    async def close(self) -> None:
        """Finish the calls that have started, cancel the others, and close the store."""
        self._closed = True
        self.watch.end()
        self._windows.close()
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        await asyncio.to_thread(self.store.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    access = AsyncMethod(Palimpsest.access)
    behind = AsyncMethod(Palimpsest.behind)
    check = AsyncMethod(Palimpsest.check)
    check_duplicate = AsyncMethod(Palimpsest.check_duplicate)
    compact_session = AsyncMethod(Palimpsest.compact_session)
    compose = AsyncMethod(Palimpsest.compose)
    confirm = AsyncMethod(Palimpsest.confirm)
    dead_letter = AsyncMethod(Palimpsest.dead_letter)
    dead_letters = AsyncMethod(Palimpsest.dead_letters)
    decisions = AsyncMethod(Palimpsest.decisions)
    dedup_result = AsyncMethod(Palimpsest.dedup_result)
    dedupe = AsyncMethod(Palimpsest.dedupe)
    ask_judge = AsyncMethod(Palimpsest.ask_judge)
    embed = AsyncMethod(Palimpsest.embed)
    embed_with = AsyncMethod(Palimpsest.embed_with)
    plan_embedding = AsyncMethod(Palimpsest.plan_embedding)
    switch_model = AsyncMethod(Palimpsest.switch_model)
    drop_old_vectors = AsyncMethod(Palimpsest.drop_old_vectors)
    end_session = AsyncMethod(Palimpsest.end_session)
    export_log = AsyncMethod(Palimpsest.export_log)
    find = AsyncMethod(Palimpsest.find)
    forget = AsyncMethod(Palimpsest.forget)
    get = AsyncMethod(Palimpsest.get)
    history = AsyncMethod(Palimpsest.history)
    export_source = AsyncMethod(Palimpsest.export_source)
    import_source = AsyncMethod(Palimpsest.import_source)
    ingest = AsyncMethod(Palimpsest.ingest)
    likeness = AsyncMethod(Palimpsest.likeness)
    list = AsyncMethod(Palimpsest.list)
    merge = AsyncMethod(Palimpsest.merge)
    metrics = AsyncMethod(Palimpsest.metrics)
    names = AsyncMethod(Palimpsest.names)
    next_review = AsyncMethod(Palimpsest.next_review)
    owners_of_session = AsyncMethod(Palimpsest.owners_of_session)
    pin = AsyncMethod(Palimpsest.pin)
    policy = AsyncMethod(_read("policy"))
    position = AsyncMethod(_read("position"))
    rebuild = AsyncMethod(Palimpsest.rebuild)
    recall = AsyncMethod(Palimpsest.recall)
    redo = AsyncMethod(Palimpsest.redo)
    reinstate = AsyncMethod(Palimpsest.reinstate)
    reinstate_many = AsyncMethod(Palimpsest.reinstate_many)
    renew = AsyncMethod(Palimpsest.renew)
    restore = AsyncMethod(Palimpsest.restore)
    retract = AsyncMethod(Palimpsest.retract)
    retry_dead_letters = AsyncMethod(Palimpsest.retry_dead_letters)
    reverse = AsyncMethod(Palimpsest.reverse)
    review = AsyncMethod(Palimpsest.review)
    review_different = AsyncMethod(Palimpsest.review_different)
    review_same = AsyncMethod(Palimpsest.review_same)
    separate = AsyncMethod(Palimpsest.separate)
    set_names = AsyncMethod(Palimpsest.set_names)
    set_policy = AsyncMethod(Palimpsest.set_policy)
    settle = AsyncMethod(Palimpsest.settle)
    show = AsyncMethod(Palimpsest.show)
    show_candidate = AsyncMethod(Palimpsest.show_candidate)
    sql = AsyncMethod(Palimpsest.sql)
    sql_file = AsyncMethod(_read("sql_file"))
    status = AsyncMethod(Palimpsest.status)
    submit_each = AsyncMethod(Palimpsest.submit_each)
    backtest = AsyncMethod(Palimpsest.backtest)
    triangles = AsyncMethod(Palimpsest.triangles)
    undo = AsyncMethod(Palimpsest.undo)
    unmerge = AsyncMethod(Palimpsest.unmerge)
    update = AsyncMethod(Palimpsest.update)
    verify = AsyncMethod(Palimpsest.verify)
    wait_for = AsyncMethod(Palimpsest.wait_for)
    why = AsyncMethod(Palimpsest.why)
    why_not = AsyncMethod(Palimpsest.why_not)
    withdraw = AsyncMethod(Palimpsest.withdraw)


class _Waiting:
    """One task's candidates, and the future of their outcomes."""

    def __init__(self, offer: Offer) -> None:
        candidates: Any = offer.candidates
        several = isinstance(candidates, Iterable) and not isinstance(candidates, Mapping | str)
        rows = list(candidates) if several else candidates  # an iterator is read once
        self.offer = offer._replace(candidates=rows)
        each = [fields_of(row) for row in (rows if several else [rows]) if isinstance(row, Mapping)]
        self.owners = {str(row.get("owner_id")) for row in each}
        self.rows = len(rows) if several else 1
        self.characters = sum(len(str(row.get("text"))) for row in each)
        self.outcomes: Future[list[Outcome]] = Future()


class _Windows:
    """Gathers candidates while the previous window is decided on: a group commit.

    Owners take turns: an owner with many long batches does not keep the others waiting.
    """

    def __init__(self, store: Palimpsest, threads: ThreadPoolExecutor) -> None:
        self._store = store
        self._threads = threads
        self._waiting: list[_Waiting] = []
        self._turn = 0
        self._served: dict[str, int] = {}
        self._lock = Lock()
        self._deciding = False

    def put(self, waiting: _Waiting) -> Future[list[Outcome]]:
        """The outcomes, available when a window with these candidates has been decided on."""
        with self._lock:
            self._waiting.append(waiting)
            if not self._deciding:
                self._threads.submit(self._decide_all)
                self._deciding = True
        return waiting.outcomes

    def close(self) -> None:
        """Cancel the offers that wait for their window."""
        with self._lock:
            for offer in self._waiting:
                offer.outcomes.cancel()
            self._waiting.clear()

    def _decide_all(self) -> None:
        while window := self._next():
            begun = [
                waiting for waiting in window if waiting.outcomes.set_running_or_notify_cancel()
            ]
            if len(begun) > 1:
                self._decide_together(begun)
            else:
                self._decide_each(begun)

    def _next(self) -> list[_Waiting]:
        """The next offers in turns, as many as a window holds; an empty list ends the loop."""
        with self._lock:
            in_turn = self._in_turn()
            fit, rows, characters = 0, 0, 0
            for offer in in_turn:
                rows += offer.rows
                characters += offer.characters
                if fit and (rows > WINDOW or characters > WINDOW_BYTES):
                    break
                fit += 1
            window, self._waiting = in_turn[:fit], in_turn[fit:]
            self._note_turns(window)
            self._deciding = bool(window)
            return window

    def _in_turn(self) -> list[_Waiting]:
        """The waiting offers: the least recently served owner first, each owner's in order."""
        latest: dict[str, int] = {}
        turns: list[int] = []
        for offer in self._waiting:
            turns.append(
                max((latest.get(o, self._served.get(o, 0)) for o in offer.owners), default=0)
            )
            latest |= dict.fromkeys(offer.owners, turns[-1])
        return [self._waiting[at] for at in sorted(range(len(turns)), key=turns.__getitem__)]

    def _note_turns(self, window: list[_Waiting]) -> None:
        """Note who had this window; owners with nothing waiting are forgotten at the next one."""
        self._turn += 1
        waiting = {owner for offer in self._waiting for owner in offer.owners}
        self._served = {owner: n for owner, n in self._served.items() if owner in waiting}
        self._served |= {owner: self._turn for offer in window for owner in offer.owners}

    def _decide_together(self, window: list[_Waiting]) -> None:
        """Decide on a window in one commit; if the store fails, all its offers get that error.

        If an offer fails, nothing of the window is written, and each offer is decided on alone.
        """
        try:
            answers = self._store.submit_each([waiting.offer for waiting in window])
        except (StoreError, TransientError) as error:
            for waiting in window:
                waiting.outcomes.set_exception(error)
        except Exception:  # noqa: BLE001 - the offer that caused it will raise it again
            self._decide_each(window)
        else:
            for waiting, answer in zip(window, answers, strict=True):
                _answer(waiting, answer)

    def _decide_each(self, window: list[_Waiting]) -> None:
        for waiting in window:
            try:
                answer = self._alone(waiting.offer)
            except Exception as error:  # noqa: BLE001 - raised where the future is awaited
                waiting.outcomes.set_exception(error)
            else:
                _answer(waiting, answer)

    def _alone(self, offer: Offer) -> list[Outcome] | InvalidInputError:
        """The outcomes of one offer; its error is the one that `submit` would raise."""
        if offer.submission is None:
            candidates, source, invalid, _ = offer
            return self._store.submit(candidates, source=source, invalid=invalid)
        return self._store.submit_each([offer])[0]


def _answer(waiting: _Waiting, answer: list[Outcome] | InvalidInputError) -> None:
    if isinstance(answer, InvalidInputError):
        waiting.outcomes.set_exception(answer)
    else:
        waiting.outcomes.set_result(answer)
