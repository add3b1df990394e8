"""What one caller may do with one owner's memories; every door uses it.

Any id of another owner is unknown here.
"""

from __future__ import annotations

import builtins
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import count, takewhile
from typing import Any, TypeVar, cast
from uuid import UUID, uuid5

import orjson
from pydantic import BaseModel

from palimpsest.api.arguments import Attribution
from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.offers import Offer
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.answers import (
    A_co,
    Checked,
    Forgotten,
    JsonObject,
    Names,
    NewExpiry,
)
from palimpsest.contracts.candidate import LONGEST_NAME
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import AnyEvent, Retracted, Speaker
from palimpsest.contracts.identity import (
    candidate_id,
    decision_id_of,
    decision_id_or_unchanged,
    digest,
    event_id,
)
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.model import write_json
from palimpsest.contracts.requested import name_request, request_id
from palimpsest.contracts.requests import (
    ForgetRequest,
    Request,
    SetExpiryRequest,
    SubmitRequest,
    UpdateRequest,
)
from palimpsest.contracts.shown import Found, Happened, History, Hits, Page, ShownMemory
from palimpsest.contracts.urn import Urn, is_urn
from palimpsest.jobs.extract import memories_of, spoken
from palimpsest.process.output import plain
from palimpsest.queries.find import Plan
from palimpsest.queries.hiding import forgotten_texts, without, without_texts
from palimpsest.queries.ids import SHORTEST, bare
from palimpsest.queries.memories import require_future, to_expire
from palimpsest.queries.triangles import Triangle
from palimpsest.queries.undoing import Way, offered
from palimpsest.queries.why import Explanation, WhyNot
from palimpsest.server.bodies import OwnSelection
from palimpsest.server.callers import Caller
from palimpsest.server.problems import ProblemError, not_found
from palimpsest.settings.serve import Role
from palimpsest.settings.settings import NO_JUDGE
from palimpsest.streams.core.expand import FORGET
from palimpsest.streams.log.as_of import AsOf
from palimpsest.streams.write.inputs import OTHER_REQUEST, Outcome, Submission

REQUESTS = UUID("5b0c1c53-3f7e-5f0a-9a55-6f4f0e5b3c11")
"""Namespace for the ids of requests with a key, so that the same key is the same request."""

WRITES = (
    "add update undo redo forget forget_found forget_all restore unmerge reinstate merge separate"
    " confirm withdraw reverse reinstate_many pin renew retract end_session compact_session"
    " set_names".split()
)
"""The kinds of writes that take a key; each kind derives its own id from the key."""

OF_REQUESTS = frozenset({"events", "event_id", "carried_out", "cause", "undo"})
"""Fields of an answer with ids of events or requests, which differ in a dry run."""

IDS = frozenset(
    "memory_id memory_ids candidate_id decision_id a b face selection forgotten".split()
)
"""Fields of requests that hold ids."""

Answer = TypeVar("Answer")


def other_request() -> RefusedError:
    """The refusal of a key that was used for another request before."""
    return RefusedError("id_conflict", OTHER_REQUEST.detail or "")


class Intents:
    """One owner's memories as a caller may see and change them.

    Creating it raises a problem if the caller's token is not for this owner.

    `key` is the client's idempotency key: a write that is repeated with it is done once, even after
    a crash, because the key is in the log, not in this process. `asked` is a digest of the client's
    request: with a different request, the key is refused (`id_conflict`). `shows_forgotten`: a
    person also sees forgotten texts.
    """

    def __init__(
        self,
        store: AsyncPalimpsest,
        caller: Caller,
        owner_id: str,
        *,
        source: str,
        key: str | None = None,
        shows_forgotten: bool = True,
        asked: str | None = None,
    ) -> None:
        caller.require_owner(owner_id)
        self._shows_forgotten = shows_forgotten and caller.may_act_as("reviewer")
        self._store = store
        self._caller = caller
        self.owner_id = owner_id
        self._source = source
        self._key = key
        self._asked_for = asked

    def require_role(self, role: Role) -> None:
        """Raise a problem if the caller's role does not include this one."""
        self._caller.require_role(role)

    @property
    def has_key(self) -> bool:
        """Whether the client gave a key."""
        return self._key is not None

    # -- memories ----------------------------------------------------------------------------------

    async def add(self, memories: Sequence[Mapping[str, Any]]) -> builtins.list[JsonObject]:
        """Add memories; returns the outcome of each. InvalidInputError if one cannot be read.

        Raises RefusedError (`id_conflict`) if the key was used for another request.
        """
        rows = [self._candidate(memory, number) for number, memory in enumerate(memories)]
        submission = None
        if self._key is not None:
            await self._store.call(self._require_same)
            await self._store.call(self._require_as_many, len(rows))
            if not rows:
                await self._store.call(self._record_nothing)
            submission = Submission(self._request_id("add"), self._asked_for or "", len(rows))
        outcomes = await self._store.offer(Offer(rows, self._source, submission=submission))
        if OTHER_REQUEST in outcomes:
            raise other_request()
        return [asdict(outcome) for outcome in outcomes]

    async def add_messages(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        infer: bool | None,
        about: Mapping[str, str | None],
    ) -> builtins.list[JsonObject]:
        """Add a conversation, all or nothing; returns the outcome of each memory, with its text.

        With `infer`, the judge's model extracts the memories; without it, each message is stored as
        it is. None means with `infer` if a judge is configured. With a known key nothing is
        extracted again.
        """
        known = None if self._key is None else await self._store.call(self._known_outcomes)
        if known is None:
            rows = await self._extracted(messages, infer=infer, about=about)
            try:
                known = await self.add(rows)
            except RefusedError:  # the same call may have run concurrently, and extracted others
                known = None if self._key is None else await self._store.call(self._known_outcomes)
                if known is None:
                    raise
        outcomes = known
        return await self._store.call(
            lambda store: self._as_seen(store, lambda store: self._with_texts(store, outcomes))
        )

    def _record_nothing(self, store: Palimpsest) -> None:
        """Record under the key that there was nothing to do."""
        name, asked = self._request_id("add"), self._asked_for
        store.writer.ask(SubmitRequest(request_id=name, owner_id=self.owner_id, asked=asked))

    async def _extracted(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        infer: bool | None,
        about: Mapping[str, str | None],
    ) -> Sequence[Mapping[str, Any]]:
        judge = self._store.judge
        known = {name: value for name, value in about.items() if value is not None}
        if not (judge is not None if infer is None else infer):
            return spoken(messages, known)
        if judge is None:
            raise UsageError(f"`infer` needs a judge: {NO_JUDGE}")
        policy = await self._store.call(lambda store: store.reader.policy_in_force())
        known["owner_id"] = self.owner_id
        folder = self._store.store.folder
        rows = await memories_of(messages, known, policy, judge, source=self._source, folder=folder)
        # With a key, a memory's id is derived from the key and its number (`_candidate`).
        return rows if self._key is None else [{**row, "id": None} for row in rows]

    def _known_outcomes(self, store: Palimpsest) -> builtins.list[JsonObject] | None:
        """The outcomes under this key; None if it is new. RefusedError if it is another request's.

        A cluster records only the key, so the outcomes are those of the memories decided on so far.
        """
        self._require_same(store)
        if not self._recorded(store, "add"):
            return None
        answer = store.reader.answered(self._request_id("add"))
        if "outcomes" in answer:
            return [asdict(Outcome(**outcome)) for outcome in answer["outcomes"]]
        ids = (candidate_id(self.owner_id, self._source, self._id_of(n)) for n in count())
        decided = takewhile(lambda one: store.reader.log.owner_of(decision_id_of(one)), ids)
        return [asdict(Outcome("published", one)) for one in decided]

    def _with_texts(
        self, store: Palimpsest, outcomes: Sequence[JsonObject]
    ) -> builtins.list[JsonObject]:
        """Outcomes with the texts of their candidates and the messages that they come from."""
        entries = store.reader.ledger(self.owner_id).entries
        found = [(outcome, entries.get(outcome["candidate_id"])) for outcome in outcomes]
        return [
            outcome
            if entry is None
            else {**outcome, "text": entry.text, "message": entry.fields.metadata.get("message")}
            for outcome, entry in found
        ]

    def _candidate(self, memory: Mapping[str, Any], number: int) -> dict[str, Any]:
        row = {**memory, "owner_id": self.owner_id}
        if self._key is not None and row.get("id") is None:
            row["id"] = self._id_of(number)
        return row

    def _id_of(self, number: int) -> str:
        """The id for a memory that has none: the key and its number, hashed if that is too long."""
        named = f"{self._key}/{number}"
        return named if len(named) <= LONGEST_NAME else digest(named.encode())

    async def search(self, query: str, *, as_of: AsOf | None = None, **asked: Any) -> Hits:
        """The memories nearest to a question; only people may ask for a past state."""
        self._require_person_for(as_of)
        return await self._store.recall(self.owner_id, query, as_of=as_of, **asked)

    async def find(self, query: str, **wanted: Any) -> Plan:
        """Memories that match by words, then by meaning."""
        plan = await self._store.find(self.owner_id, query, **wanted)
        self._remove_positions(plan)
        return plan

    async def check(self, memory: Mapping[str, Any]) -> Checked:
        """The decision that adding a memory would lead to; nothing is written."""
        row = self._candidate(memory, 0)
        return await self._asked(lambda store: store.check(row, source=self._source))

    async def list(self, **wanted: Any) -> Page:
        """A page of the owner's living memories, the latest first."""
        return await self._store.list(self.owner_id, **wanted)

    async def get(self, memory_id: str) -> Found:
        """The current memory of any id; for an agent, forgotten ones do not exist."""
        found = await self._with(memory_id, lambda store, own: store.get(own))
        if found["state"] == "retracted" and not self._shows_forgotten:
            raise not_found()
        return found

    async def history(self, memory_id: str) -> History:
        """Every event of a memory; an agent sees no texts of a forgotten one."""
        found = await self._with(memory_id, lambda store, own: store.history(own))
        self._remove_positions(*found["events"])
        if found["state"] == "retracted" and not self._shows_forgotten:
            return without_texts(found)
        return found

    async def show(self, memory_id: str, *, as_of: AsOf | None = None) -> ShownMemory:
        """A memory with every member, by any member's id; not found for an agent if forgotten."""
        self._require_person_for(as_of)
        if as_of is None:
            await self.get(memory_id)
        shown = await self._with(memory_id, lambda store, own: store.show(own, as_of=as_of))
        self._remove_positions(*shown["timeline"])
        return shown

    async def why(self, some_id: str) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is."""
        await self.get(some_id)
        return await self._with(some_id, lambda store, own: store.why(own))

    async def why_not(self, some_id: str, other_id: str) -> WhyNot:
        """Why two candidates of this owner are not in one memory."""
        await self.get(some_id)
        await self.get(other_id)
        return await self._asked(
            lambda store: store.why_not(
                own_id(store, self.owner_id, some_id), own_id(store, self.owner_id, other_id)
            )
        )

    async def triangles(self, at_least: float, limit: int) -> builtins.list[Triangle]:
        """Pairs that a person separated, with a third that is joined to one and near the other."""
        return await self._asked(
            lambda store: store.triangles(self.owner_id, at_least=at_least, limit=limit)
        )

    # -- changing and forgetting -------------------------------------------------------------------

    async def names(self) -> Names:
        """The names that the owner is called by."""
        return await self._asked(lambda store: store.names(self.owner_id))

    async def ask(self, write: str | None, kind: type[Request[A_co]], **given: Any) -> A_co:
        """Send a request to the store for the caller; a `write` with a key is done once.

        Ids in the fields `given` must be this owner's.
        """

        def asked(store: Palimpsest) -> A_co:
            return store.writer.ask(self._request(store, kind, given))

        return await self._asked(asked, write)

    def _request(
        self, store: Palimpsest, kind: type[Request[A_co]], given: Mapping[str, Any]
    ) -> Request[A_co]:
        """The request with full ids, the owner and the actor."""
        says = {"rank": self._speaker, "owner_id": self.owner_id, "source": self._source}
        said = {name: value for name, value in says.items() if name in kind.model_fields}
        fields: dict[str, Any] = {
            name: value.of(self.owner_id, value.candidate_id)
            if isinstance(value, OwnSelection)
            else value
            for name, value in given.items()
        }
        request = kind(request_id=request_id(), actor=self._caller.name, **said, **fields)
        named = IDS.intersection(given)
        return request.model_copy(
            update={name: self._own(store, name, given[name]) for name in named}
        )

    def _own(self, store: Palimpsest, name: str, value: Any) -> Any:
        """A field's value with full ids; a problem if one is not this owner's."""
        if name == "memory_ids":
            return tuple(own_id(store, self.owner_id, one) for one in value)
        if name == "forgotten" and value is not None:
            forgotten: str = bare(store.reader, value)
            require_own_forgetting(store, self.owner_id, forgotten)
            return forgotten
        if isinstance(value, OwnSelection):
            candidate_id = self._own(store, "candidate_id", value.candidate_id)
            return value.of(self.owner_id, candidate_id)
        return value if value is None else own_id(store, self.owner_id, value)

    async def pin(self, some_id: str, *, until: datetime | None, because: str | None) -> NewExpiry:
        """Keep a memory, named by any of its ids, for ever or until a time."""

        def pinned(store: Palimpsest, own: str) -> NewExpiry:
            said: Attribution = {"actor": self._caller.name, "because": because}
            return store.pin(own, until=until, owner_id=self.owner_id, **said)

        return await self._with(some_id, pinned, write="pin")

    async def renew(
        self, candidate_id: str, *, expires_at: datetime, because: str | None
    ) -> NewExpiry:
        """Change when a candidate expires, to a time in the future."""

        def renewed(store: Palimpsest) -> NewExpiry:
            require_future(store.reader, expires_at)
            given = {"candidate_id": candidate_id, "expires_at": expires_at, "because": because}
            return store.writer.ask(self._request(store, SetExpiryRequest, given))

        return await self._asked(renewed, write="renew")

    async def take(
        self,
        way: Way,
        some_id: str,
        *,
        dry_run: bool,
        token: str | None = None,
        because: str | None = None,
    ) -> JsonObject:
        """Undo what an id names, or do it again (docs/undo.md).

        A dry run returns a `token`; a call with that token fails if the result would differ.
        """

        def taken(store: Palimpsest) -> JsonObject:
            act = store.undo if way == "undo" else store.redo
            own = _whole(store, self.owner_id, some_id)
            if dry_run or token is not None:
                shown = cast("JsonObject", act(own, **said, dry_run=True))
                now = token_of({key: shown[key] for key in shown.keys() - OF_REQUESTS})
                if dry_run:
                    return {**shown, "token": now}
                require_token(token or "", now)
            return {**act(own, **said)}

        said: Any = {
            "by": self._speaker,
            "owner_id": self.owner_id,
            "actor": self._caller.name,
            "because": because,
        }
        try:
            return await self._asked(taken, write=way)
        except RefusedError as refused:
            if refused.reason == "unknown_candidate":  # of no owner, or of another one
                raise not_found() from None
            raise

    async def forget_all(
        self, *, expect: str | None, dry_run: bool, because: str | None
    ) -> Forgotten | None:
        """Forget the owner's living memories if they match `expect`; None if there are none."""

        def forget(store: Palimpsest) -> Forgotten | None:
            ids = _all_ids(store, self.owner_id)
            if not ids and (dry_run or self._key is None):
                return None
            # With a key, a call that finds nothing is recorded as well.
            how = {"expect": expect, "dry_run": dry_run, "because": because}
            return store.writer.ask(self._request(store, ForgetRequest, {"memory_ids": ids, **how}))

        return await self._asked(forget, write="forget_all")

    @property
    def _speaker(self) -> Speaker:
        return "person" if self._caller.may_act_as("reviewer") else "agent"

    # -- calls to the store ------------------------------------------------------------------------

    def _remove_positions(self, *answers: Plan | Happened) -> None:
        """Remove positions from an agent's answers: they show the activity of other owners."""
        if not self._caller.may_act_as("reviewer"):
            for answer in answers:
                answer.pop("position", None)

    def _require_person_for(self, as_of: AsOf | None) -> None:
        """Require a person for a past state: an agent would see texts that were forgotten since."""
        if as_of is not None:
            self._caller.require_role("reviewer")

    async def _with(
        self, some_id: str, ask: Callable[[Palimpsest, str], Answer], write: str | None = None
    ) -> Answer:
        """Like `_asked`, for an id that must be this owner's."""
        return await self._asked(
            lambda store: ask(store, own_id(store, self.owner_id, some_id)), write
        )

    async def expire(self, memory_id: str, expires_at: datetime | None) -> None:
        """Set when a memory expires (None: never); with a key, at most once per candidate."""

        def left(store: Palimpsest) -> builtins.list[str]:
            some = to_expire(store.reader, memory_id, expires_at)
            done = self._expiries(store, memory_id)
            if self._key is not None and not (some or done or self._recorded(store, "update")):
                self._record_nothing(store)
            return [one for one in some if _expiry(one) not in done] if done else some

        for one in await self._store.call(left):
            await self.ask(_expiry(one), SetExpiryRequest, candidate_id=one, expires_at=expires_at)

    async def rehearse_update(
        self, memory: Found, expires_at: datetime | None, update: Mapping[str, Any]
    ) -> None:
        """RefusedError if the memory cannot have both the expiry and the update.

        An expired memory gets its new expiry first: until then, its text cannot change.
        """

        def rehearsed(store: Palimpsest) -> None:
            ends = [
                self._request(
                    store, SetExpiryRequest, {"candidate_id": one, "expires_at": expires_at}
                )
                for one in to_expire(store.reader, memory["memory_id"], expires_at)
            ]
            says = self._request(store, UpdateRequest, update)
            first, then = (ends, [says]) if memory["state"] == "expired" else ([says], ends)
            store.reader.rehearse(*first, *then)

        if not await self.was_asked("update"):
            await self._asked(rehearsed)

    async def require_same(self, memory_id: str) -> None:
        """RefusedError if the key was used for another request, such as another expiry."""

        def required(store: Palimpsest) -> None:
            self._require_same(store, *self._expiries(store, memory_id))

        if self._key is not None:
            await self._store.call(required)

    def _expiries(self, store: Palimpsest, memory_id: str) -> builtins.list[str]:
        """The writes under the key that set when candidates of a memory expire."""
        if self._key is None:
            return []
        members = store.reader.ledger(self.owner_id).entries[memory_id].memory.members
        return [name for entry in members if self._recorded(store, name := _expiry(entry.id))]

    async def was_asked(self, write: str) -> bool:
        """Whether a write of this kind was recorded under the key."""
        if self._key is None:
            return False
        return bool(await self._store.call(lambda store: self._recorded(store, write)))

    async def _asked(self, ask: Callable[[Palimpsest], Answer], write: str | None = None) -> Answer:
        """Call the store; a `write` with a key becomes a request with an id of its own."""
        if write is None or self._key is None:
            return await self._store.call(self._as_seen, ask)
        name = self._request_id(write)

        def call(store: Palimpsest) -> Answer:
            self._require_same(store)
            if self._recorded(store, write):
                return self._as_seen(
                    store, lambda store: cast("Answer", store.reader.answered(name))
                )
            self._require_as_many(store, 0)
            with name_request(name, self._asked_for):
                return self._as_seen(store, ask)

        return await self._store.call(call)

    def _request_id(self, write: str) -> str:
        return str(uuid5(REQUESTS, "\n".join((self.owner_id, write, self._key or ""))))

    def _recorded(self, store: Palimpsest, write: str) -> builtins.list[AnyEvent]:
        """The recorded events of a write with the key."""
        recorded = store.reader.log.of_request(self._request_id(write))
        return [event.event for event in recorded]

    def _require_same(self, store: Palimpsest, *more: str) -> None:
        """RefusedError if the key was used for another request."""
        known = (event for write in (*WRITES, *more) for event in self._recorded(store, write))
        if any(event.requestdigest != self._asked_for for event in known):
            raise other_request()

    def _require_as_many(self, store: Palimpsest, count: int) -> None:
        """RefusedError if the key was used with more memories before."""
        beyond = candidate_id(self.owner_id, self._source, self._id_of(count))
        if store.reader.log.owner_of(decision_id_of(beyond)) is not None:
            raise other_request()

    def _as_seen(self, store: Palimpsest, ask: Callable[[Palimpsest], Answer]) -> Answer:
        """An answer for this caller: an agent sees no forgotten texts, and no `undo` of others."""
        answer = ask(store)
        if self._speaker == "agent":
            answer = offered(store.reader, answer, self.owner_id, self._caller.name)
        if self._shows_forgotten:
            return answer
        ledger = store.reader.ledger(self.owner_id)
        return without(answer, forgotten_texts(ledger))


def _expiry(candidate: str) -> str:
    """The kind of write that sets when this candidate expires; each candidate has its own."""
    return f"expire {candidate}"


def digest_of_call(*asked: object) -> str:
    """A digest, 32 hex digits, of a client's request, given as texts or models."""

    def said(model: BaseModel) -> JsonObject:
        return model.model_dump(mode="json", exclude_defaults=True)

    return digest(write_json(asked, said, orjson.OPT_SORT_KEYS))[:32]


def own_id(store: Palimpsest, owner_id: str, some_id: str) -> str:
    """The full id for an id, a URN or an abbreviated id; a problem if it is not this owner's."""
    found = _whole(store, owner_id, some_id)
    log = store.reader.log
    owners = {log.owner_of(one) for one in (decision_id_or_unchanged(found), found)}
    if owners - {None} != {owner_id}:
        raise not_found()
    return found


_BEGINNING = re.compile(rf"(?i)[0-9a-f][0-9a-f-]{{{SHORTEST - 1},34}}")


def _whole(store: Palimpsest, owner_id: str, some_id: str) -> str:
    """An id as `bare` returns it; an abbreviated id of this owner is expanded.

    A problem if that is unknown or ambiguous.
    """
    typed: str = bare(store.reader, some_id)
    if not _BEGINNING.fullmatch(typed):
        return typed
    ledger = store.reader.ledger(owner_id)
    found = [
        full
        for ids in (ledger.entries, ledger.decisions, ledger.edges)
        for full in ids
        if full.startswith(typed.lower())
    ]
    if not found:
        raise not_found()
    if len({*found}) > 1:
        raise UsageError("several ids of this owner begin with this: give more characters")
    if is_urn(some_id):  # it also names an owner and a namespace
        return str(bare(store.reader, str(Urn.parse(some_id)._replace(id=found[0]))))
    return found[0]


def require_own_forgetting(store: Palimpsest, owner_id: str, forgotten: str) -> Retracted:
    """The first event of a forgetting of this owner; a problem if the name is unknown."""
    try:
        first = event_id(event_id(forgotten, FORGET), "0")
    except ValueError:  # it names nothing
        raise not_found() from None
    recorded = store.reader.log.find(first)
    event = recorded.event if recorded else None
    if not isinstance(event, Retracted) or event.owner_id != owner_id:
        raise not_found()
    return event


def _all_ids(store: Palimpsest, owner_id: str) -> builtins.list[str]:
    """The ids of all living memories of an owner, including expired ones."""
    ids: builtins.list[str] = []
    after: str | None = None
    while True:
        page = store.list(
            owner_id, limit=PYTHON.listed, after=after, former=True, show_expired=True
        )
        ids += [memory["memory_id"] for memory in page["memories"]]
        after = page["next"]
        if after is None:
            return ids


# -- dry runs and their tokens ---------------------------------------------------------------------


def token_of(shown: object) -> str:
    """A token, 32 hex digits, for the result of a dry run: another result has another token."""
    shown_bytes = orjson.dumps(shown, default=plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(shown_bytes).hexdigest()[:32]


def require_token(given: str, token: str) -> None:
    """Raise a problem if the result would differ from the one that was shown."""
    if given != token:
        moved = "no dry run showed this result: it has changed since, or the token is another's"
        raise ProblemError(409, "refused", moved, reason="moved_on")
