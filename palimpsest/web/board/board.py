"""The review board: the pair that each person sees, and the pairs they skipped and answered."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.process.logs import loggable
from palimpsest.projections.duckdb.activity import PairStatement, latest_statements
from palimpsest.server.problems import not_found
from palimpsest.web.board.answers import LABELS, Choice, GivenAnswer, give, sides
from palimpsest.web.board.pictures import picture, removal
from palimpsest.web.board.remembering import answers, by_name
from palimpsest.web.board.waiting import (
    Key,
    Leases,
    QueueFilter,
    WaitingPair,
    WaitingPairs,
    read_pairs,
)
from palimpsest.web.rendering import excerpt
from palimpsest.web.sessions import MOST_SESSIONS, WebSession

_log = logging.getLogger(__name__)

REFRESH_SECONDS = 60.0
"""Age at which a page reads the queue again, if reading it is fast."""
REFRESH_SHARE = 0.02
"""Maximum share of time spent on reading the queue, which takes seconds in a large store."""
PATIENCE_SECONDS = 0.25
"""How long a page waits for the queue; then the page is shown without it, and asks again."""
MOST_WORDS = 40
"""Statements read to find a person's `MOST_ANSWERS`: more, because some were undone since."""
MOST_ANSWERS = 10
"""Number of one person's answers that the board can undo; a memory's page undoes older ones."""

NOTHING_TO_UNDO = "There is nothing to undo."
NO_SUCH_ANSWER = "That is not among your last answers any more."


class Given(NamedTuple):
    """A person's answer, numbered; `texts` are the older one and the newer one.

    Only the beginning of a long text is kept.
    """

    number: int
    answer: GivenAnswer
    texts: tuple[str, str]


@dataclass
class Person:
    """The state of one session; nothing of it is kept in the browser.

    `nothing_since`: how many reads of the queue had begun when nothing was left. `remembers`:
    whether earlier answers were looked up. `failed`: the notice says that the last key had no
    effect, so that keys pressed after it are ignored.
    """

    skipped: set[Key] = field(default_factory=set)
    answers: deque[Given] = field(default_factory=lambda: deque(maxlen=MOST_ANSWERS))
    given: int = 0
    shown: dict[QueueFilter, WaitingPair] = field(default_factory=dict)
    notice: str = ""
    failed: bool = False
    nothing_since: int | None = None
    remembers: bool = False

    def tell(self, notice: str, *, failed: bool = False) -> None:
        """Set the notice of the next page, about the effect of a key."""
        self.notice, self.failed = notice, failed

    def note(self, answer: GivenAnswer, texts: tuple[str, str]) -> None:
        """Keep an answer, with the next number."""
        self.given += 1
        self.answers.append(Given(self.given, answer, texts))

    def take(self, number: int | None) -> Given | None:
        """The answer with a number, or the latest; None if there is none."""
        found = (answer for answer in reversed(self.answers) if number in (None, answer.number))
        return next(found, None)


class ReviewBoard:
    """The board of one server. `now` gives monotonic seconds."""

    def __init__(self, store: AsyncPalimpsest, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._waiting = WaitingPairs()
        self._read_again_at = float("-inf")
        self._begun = self._read_through = 0
        self._aside: asyncio.Task[None] | None = None
        self.leases = Leases(now)
        self._people: OrderedDict[str, Person] = OrderedDict()
        self._latest_statements: Mapping[str, list[PairStatement]] = {}

    def person(self, session: WebSession) -> Person:
        """The state of a session."""
        known = self._people.setdefault(session.csrf, Person())
        self._people.move_to_end(session.csrf)
        if len(self._people) > MOST_SESSIONS:
            self._people.popitem(last=False)
        return known

    def given(self, session: WebSession) -> list[str]:
        """The event ids of a session's last answers."""
        return [name for answer in self.person(session).answers for name in answer.answer.events]

    def leave(self, session: WebSession) -> None:
        """Forget a session that has ended, and release its pairs for others."""
        self._people.pop(session.csrf, None)
        self.leases.release_all(session.csrf)

    # -- the queue ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Read the queue in the background, so that the first page need not wait for it."""
        if self._now() > self._read_again_at:
            self._read_aside()

    def end(self) -> None:
        """Stop reading."""
        if self._aside is not None:
            self._aside.cancel()

    def _read_aside(self) -> asyncio.Task[None]:
        if self._aside is None:
            self._aside = asyncio.create_task(self._read())
            self._aside.add_done_callback(self._done)
        return self._aside

    def _done(self, reading: asyncio.Task[None]) -> None:
        self._aside = None
        error = None if reading.cancelled() else reading.exception()
        if error is not None:  # retried in a minute
            _log.warning("the review queue cannot be read: %s", loggable(error))

    async def _read(self) -> None:
        self._begun += 1
        number, begun, position = self._begun, self._now(), await self._store.position()
        self._read_again_at = begun + REFRESH_SECONDS
        if position != self._waiting.position:
            await self._store.call(lambda store: store.reader.refresh())
            projections = self._store.store.reader.projections
            self._latest_statements = by_name(
                await asyncio.to_thread(latest_statements, projections, MOST_WORDS)
            )
            pairs = await asyncio.to_thread(read_pairs, projections)
            self._waiting = await asyncio.to_thread(WaitingPairs, pairs, position)
            took = self._now() - begun
            self._read_again_at = begun + max(REFRESH_SECONDS, took / REFRESH_SHARE)
            self.leases.drop_expired()
        self._read_through = number

    async def _patiently(self, enough: Callable[[], bool]) -> bool:
        """Read the queue, and wait a moment until that is `enough`; returns whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not enough():
                    await asyncio.shield(self._read_aside())
        return enough()

    async def next(self, session: WebSession, wanted: QueueFilter) -> dict[str, Any]:
        """The person's next pair, leased to them, or a notice that none is left.

        `reading` means that the queue is still being read, and that the page must ask again.
        """
        self.begin()
        was_read = await self._patiently(lambda: self._waiting.position >= 0)
        shown = await self._store.call(self._next, session, wanted)
        if was_read and shown["pair"] is None:
            was_read = await self._look_again(self.person(session))
            shown = await self._store.call(self._next, session, wanted)
        person = self.person(session)
        shown_pair = {**shown, "reading": not was_read}
        shown_pair |= {"notice": person.notice, "failed": person.failed}
        if was_read:  # else the page asks again at once, and must show the same notice
            person.nothing_since = None
            person.tell("")
        return shown_pair

    async def _look_again(self, person: Person) -> bool:
        """Whether the queue was read again since nothing was left; it is read again only once."""
        if person.nothing_since is None:
            person.nothing_since = self._begun
        since = person.nothing_since
        return await self._patiently(lambda: self._read_through > since)

    def _next(self, store: Palimpsest, session: WebSession, wanted: QueueFilter) -> dict[str, Any]:
        person, caller = self.person(session), session.caller
        self._remember(store, person, session)
        shown_pair: dict[str, Any] = {"pair": None, "removal": None}
        # A page may be reloaded; and a pair whose answer was undone need not be in the queue.
        held = [person.shown[wanted]] if wanted in person.shown else []
        for pair in [*held, *self._waiting.open(caller.owners, wanted)]:
            if pair.key in person.skipped and pair not in held:
                continue
            if not self.leases.take(pair.key, session.csrf):
                continue
            found = sides(store, pair)
            if found is None:
                self._settle(pair, session)
                continue
            person.shown[wanted] = pair
            shown_pair = picture(store, pair, found)
            break
        return {
            **shown_pair,
            "left": max(
                self._waiting.queue(caller.owners, wanted).left, int(bool(shown_pair["pair"]))
            ),
            "skipped": self._waiting.count(person.skipped, wanted),
            "answers": [
                (answer.number, LABELS[answer.answer.word], answer.texts)
                for answer in reversed(person.answers)
            ],
            "kinds": self._waiting.kinds(caller.owners),
        }

    def _remember(self, store: Palimpsest, person: Person, session: WebSession) -> None:
        """Look up a person's last answers from before the session, once these have been read."""
        if person.remembers or not self._read_through:
            return
        person.remembers = True
        caller, given = session.caller, session.answers
        mine = [
            statement
            for statement in self._latest_statements.get(caller.name, [])
            if caller.owners.fullmatch(statement.owner_id)
            and (given is None or statement.event_id in given)
        ]
        for answer in answers(store, mine)[-MOST_ANSWERS:]:
            person.note(answer, _texts(store, answer.pair))

    def _settle(self, pair: WaitingPair, session: WebSession) -> None:
        self._waiting.settle(pair.key)
        self.leases.release(pair.key, session.csrf)
        self._put_away(self.person(session), pair.key)

    @staticmethod
    def _put_away(person: Person, key: Key) -> None:
        person.shown = {wanted: pair for wanted, pair in person.shown.items() if pair.key != key}

    def _known(self, session: WebSession, key: Key) -> WaitingPair:
        """A pair that the person was shown, or may see in the queue; a problem for any other."""
        mine = {pair.key: pair for pair in self.person(session).shown.values()}
        pair = mine.get(key) or self._waiting.by_key.get(key)
        if pair is None:
            raise RefusedError("not_waiting", "this pair no longer waits")
        if not session.caller.owners.fullmatch(pair.owner_id):
            raise not_found()
        return pair

    # -- the effect of each key --------------------------------------------------------------------

    async def answer(
        self, session: WebSession, key: Key, word: Choice, version: str, because: str | None
    ) -> None:
        """Record an answer about a pair as shown; a conflict is reported with the next pair."""
        await self._store.call(self._answer, session, key, word, version, because)

    def _answer(
        self,
        store: Palimpsest,
        session: WebSession,
        key: Key,
        word: Choice,
        version: str,
        because: str | None,
    ) -> None:
        person = self.person(session)
        try:
            pair = self._known(session, key)
        except RefusedError as refused:
            person.tell(f"Not recorded: {refused.detail}.", failed=True)
            return
        try:
            texts, before = _texts(store, pair), store.reader.log.head()
            given = give(store, pair, word, version, session.caller.name, because)
        except RefusedError as refused:
            why = _in_texts(store, pair.owner_id, refused.detail)
            person.tell(f"Not recorded: {why}.", failed=True)
            return
        since = (recorded.event for recorded in store.reader.log.after(before))
        own = (
            recorded
            for recorded in since
            if getattr(recorded.data, "actor", None) == session.caller.name
        )
        person.note(replace(given, events=tuple(recorded.id for recorded in own)), texts)
        person.skipped.discard(key)
        self._settle(pair, session)
        person.tell(f"Recorded: {LABELS[word]}.")

    async def skip(self, session: WebSession, key: Key) -> None:
        """Leave a pair for later, or for others; nothing is logged."""
        await self._store.call(self._skip, session, key)

    def _skip(self, _store: Palimpsest, session: WebSession, key: Key) -> None:
        person = self.person(session)
        if key in self._waiting.by_key:
            person.skipped.add(key)
        self._put_away(person, key)
        self.leases.release(key, session.csrf)
        person.tell("Skipped.")

    def see_skipped(self, session: WebSession) -> None:
        """Show the skipped pairs again."""
        self.person(session).skipped.clear()

    async def undo(self, session: WebSession, wanted: QueueFilter, number: int | None) -> None:
        """Undo an answer, by default the latest, and show its pair again."""
        await self._store.call(self._undo, session, wanted, number)

    def _undo(
        self, store: Palimpsest, session: WebSession, wanted: QueueFilter, number: int | None
    ) -> None:
        person = self.person(session)
        found = person.take(number)
        if found is None:
            person.tell(NOTHING_TO_UNDO if number is None else NO_SUCH_ANSWER, failed=True)
            return
        pair = found.answer.pair
        try:
            found.answer.take_back(store)
        except RefusedError as refused:
            why = _in_texts(store, pair.owner_id, refused.detail)
            person.tell(f"Not undone: {why}.", failed=True)
            return
        person.answers.remove(found)
        person.tell(f"Undone: {LABELS[found.answer.word]}.")
        if sides(store, pair) is None:
            return
        self._waiting.wait_again(pair)
        person.shown[wanted] = pair

    async def removal(self, session: WebSession, key: Key) -> dict[str, Any]:
        """The memories and decisions that depend on a pair's join."""
        return await self._store.call(removal, self._known(session, key))


def _in_texts(store: Palimpsest, owner_id: str, detail: str) -> str:
    """A refusal with texts in place of ids: people need them, but errors never contain them."""
    ledger = store.reader.ledger(owner_id)

    def said(found: re.Match[str]) -> str:
        entry = ledger.entries.get(found[0])
        return found[0][:8] if entry is None else f"“{excerpt(entry.text)}”"

    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", said, detail)


def _texts(store: Palimpsest, pair: WaitingPair) -> tuple[str, str]:
    """The beginnings of both texts, the older first."""
    ledger = store.reader.ledger(pair.owner_id)
    older = pair.older_text or ledger.entries[pair.existing_id].text
    newer = pair.newer_text or ledger.entries[pair.candidate_id].text
    return excerpt(older), excerpt(newer)
