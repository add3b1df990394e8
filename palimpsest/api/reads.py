"""What callers read: memories, decisions, reasons, and the analysts' views."""

from __future__ import annotations

import builtins
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, Unpack, get_args

from pydantic import AfterValidator, Field, JsonValue

from palimpsest.api.arguments import Id, Time, Words, optional_moment
from palimpsest.api.calls import check_calls, takes_own_turns
from palimpsest.api.opened import OpenedStore
from palimpsest.auditing.foreseen import labels_needed, last_certified
from palimpsest.backends.upkeep import POLL_SECONDS
from palimpsest.contracts.answers import Names
from palimpsest.contracts.candidate import Name, Text
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Decision
from palimpsest.contracts.limits import MOST, PYTHON
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.shown import (
    Changes,
    DecisionRow,
    Found,
    History,
    Hits,
    Page,
    ShownCandidate,
    ShownMemory,
)
from palimpsest.evaluation.backtest import Backtest, backtest
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.queries import show as viewing
from palimpsest.queries.find import By, Plan, find
from palimpsest.queries.ids import bare, require_owned
from palimpsest.queries.likeness import Alike, across_namespaces
from palimpsest.queries.memories import find_memory, history_of, page_of
from palimpsest.queries.recall import recall
from palimpsest.queries.triangles import Triangle, triangles
from palimpsest.queries.why import Explanation, WhyNot, why, why_not
from palimpsest.streams.embedder import Progress, ignore_progress
from palimpsest.streams.log.as_of import AsOf
from palimpsest.streams.policies import load_policy


def _known(decision: str) -> str:
    if decision not in get_args(Decision):
        raise ValueError(f"should be one of {', '.join(get_args(Decision))}")
    return decision


Position = Annotated[int, Field(ge=0, le=MOST)]
"""The position of an event in the log; 0 is before the first."""

Seconds = Annotated[float, Field(ge=0, le=86_400)]
"""A timeout of at most a day."""

KnownDecision = Annotated[str, AfterValidator(_known)]
"""A kind of decision, named as in the log."""


class Narrowed(TypedDict, total=False):
    """Conditions, all of which must be met by the same living member of a memory.

    Every key of `metadata` must have the given value. The member happened at `since` or later, and
    before `until`; `since` must precede `until`, and times without a zone are UTC. Memories that
    have expired are left out unless `show_expired`.
    """

    namespace: Name | None
    category: Name | None
    metadata: Mapping[str, JsonValue] | None
    since: Time | None
    until: Time | None
    show_expired: bool


def _filter(narrowed: Narrowed) -> Filter:
    since = optional_moment(narrowed.get("since"))
    until = optional_moment(narrowed.get("until"))
    if since is not None and until is not None and since >= until:
        raise UsageError("nothing happened between: `since` must be before `until`")
    return Filter(
        namespace=narrowed.get("namespace"),
        category=narrowed.get("category"),
        metadata=narrowed.get("metadata") or {},
        since=since,
        until=until,
        show_expired=narrowed.get("show_expired", False),
    )


def _as_of(when: AsOf | str | None) -> AsOf | None:
    """A position, or a time in UTC."""
    return when if isinstance(when, int) else optional_moment(when)


@check_calls
class Reads(OpenedStore):
    """Answers questions; none of its calls changes a memory."""

    def recall(
        self,
        owner_id: Name,
        query: Text,
        *,
        k: Annotated[int, Field(ge=1, le=PYTHON.found)] = 5,
        as_of: int | Time | None = None,
        session_id: Name | None = None,
        min_confidence: Annotated[float, Field(ge=0, le=1)] | None = None,
        former: bool = False,
        fold: bool = True,
        hybrid: bool | None = False,
        min_score: Annotated[float, Field(ge=-1, le=1)] | Literal["model"] | None = None,
        max_tokens: Annotated[int, Field(ge=1)] | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Hits:
        """The `k` memories nearest to a question, best first, with face, cosine and members.

        Keywords of `Narrowed` select memories. With `as_of`, a position of the log or a time, it
        answers as of then; UsageError if that is in the future. `session_id` leaves out memories
        that only this session has stated since its conversation was last compacted. Memories whose
        confidence, decayed by the policy, is below `min_confidence` (default: the policy's) are
        left out. `former` adds to the members the texts that the face has displaced, and to the
        hits the memories that an update of another memory has displaced. Indistinguishable memories
        are shown once, unless `fold` is False. `hybrid` moves up memories that mention an
        identifier from the question, such as INC-7; None does so unless the owner is large and not
        in memory. Other memories with a score below `min_score` are left out and counted as
        `weaker`; `"model"` is the model's own threshold, if one is known. All faces together have
        at most about `max_tokens` tokens, unless the first alone has more.
        """
        policy = self._reader.policy_in_force()
        found = recall(
            self._reader,
            owner_id,
            query,
            RecallOptions(
                k,
                _filter(narrowed),
                session_id,
                former=former,
                hybrid=hybrid,
                min_score=min_score,
                max_tokens=max_tokens,
            ),
            as_of=_as_of(as_of),
            min_confidence=min_confidence,
            fold=fold,
            unrecorded=self._uses.unrecorded(owner_id, policy),
        )
        if as_of is None:
            self._uses.note(owner_id, [memory["memory_id"] for memory in found], policy)
        return found

    def find(
        self,
        owner_id: Name,
        query: Text,
        *,
        by: Annotated[Sequence[By], Field(min_length=1)] = ("words", "meaning"),
        k: Annotated[int, Field(ge=1, le=PYTHON.found)] = 5,
        namespace: Name | None = None,
        show_expired: bool = False,
    ) -> Plan:
        """Find memories: all that mention the query, then the `k` nearest by meaning.

        Words match whole and in canonical form: `ABC-123` matches `abc123`, not `ABC1234`. Each hit
        has the reason why it was found; the plan's token identifies the memories in this state.
        Memories that have expired are left out unless `show_expired`.
        """
        return find(
            self._reader,
            owner_id,
            query,
            by=by,
            k=k,
            namespace=namespace,
            show_expired=show_expired,
        )

    def list(
        self,
        owner_id: Name,
        *,
        limit: Annotated[int, Field(ge=1, le=PYTHON.listed)] = 50,
        after: Id | None = None,
        former: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        """A page of an owner's living memories, latest first by the arrival of their first members.

        `after` is the `next` of the previous page: a memory that exists throughout is on exactly
        one page, whatever is added or removed. Keywords of `Narrowed` select memories. `former`
        adds to the members the texts that the face has displaced, and to the page the memories that
        an update of another memory has displaced. Raises UsageError if `after` is malformed.
        """
        wanted = _filter(narrowed)
        return page_of(self._reader, owner_id, wanted, limit=limit, after=after, former=former)

    def get(self, memory_id: Id, *, owner_id: Name | None = None) -> Found:
        """The current memory by any id that a memory or a candidate ever had.

        `moved`: the memory has another id now; `state`: `living`, `pending`, `expired` or
        `retracted`. The members are all wordings, `former` ones included. Raises RefusedError for
        an unknown id.
        """
        require_owned(self._reader, owner_id, memory_id)
        return find_memory(self._reader, memory_id)

    def history(self, memory_id: Id, *, owner_id: Name | None = None) -> History:
        """Every event of a memory in order: what it `did`, and who did it, why and when.

        Members that have left are included up to the event that took them out; any id works, as
        for `get`.
        """
        require_owned(self._reader, owner_id, memory_id)
        return history_of(self._reader, memory_id)

    @takes_own_turns
    def changes(
        self,
        owner_id: Name | None = None,
        *,
        after: Position | Name = 0,
        limit: Annotated[int, Field(ge=1, le=PYTHON.listed)] = 100,
        wait: Seconds = 0,
    ) -> Changes:
        """The next page of all events, of one owner or of everybody, and the memories they changed.

        `after` is the `next` of the previous page (or the id of an event). If there is nothing
        new, the call waits for up to `wait` seconds; other threads may use the store meanwhile.
        """
        until = time.monotonic() + wait
        while True:
            with self.turn.lock:
                self.turn.require()
                page = self.feed.page(owner_id, after, limit)
            if page["changes"] or time.monotonic() >= until:
                return page
            after = page["next"]
            time.sleep(POLL_SECONDS)

    def status(self, *, as_of: int | Time | None = None) -> dict[str, Any]:
        """Counts, the log's position, the lag of each projection, and that of the store (`behind`).

        With `as_of`, a position of the log or a time, it counts as of then.
        """
        return viewing.status(self._reader, _as_of(as_of), self._writer.behind)

    def likeness(
        self,
        owner_id: Name,
        *,
        at_least: Annotated[float, Field(ge=0, le=1)] = 0.9,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
    ) -> builtins.list[Alike]:
        """An owner's similar memories across namespaces; nothing is joined.

        The nearest pair comes first, by the cosine of the faces. Long faces are compared window
        by window, in both directions, and the score is that of the least similar window.
        """
        return across_namespaces(self._reader, owner_id, at_least, limit)

    def backtest(
        self,
        policy: Policy | str,
        *,
        owner: str | None = None,
        since: Time | None = None,
        compares_anew: bool = False,
        processes: Annotated[int, Field(ge=1, le=64)] = 1,
        progress: Progress = ignore_progress,
    ) -> Backtest:
        """What would be different if another policy had decided on this history (docs/proof.md).

        It covers the owners that match the regular expression `owner`, and decisions made at
        `since` or later. Only the log is read, and nothing is written; the guard's recorded
        findings are used, unless `compares_anew`. Several `processes` share the owners: guard your
        main module, as for `multiprocessing`. UsageError if texts lack vectors of the policy's
        model, or no owner matches.
        """
        rules = load_policy(policy)
        log = self._reader.log
        return backtest(
            self._reader,
            rules,
            progress,
            owner=owner,
            since=optional_moment(since),
            compares_anew=compares_anew,
            processes=processes,
            certified=last_certified(log),
            labels_needed=partial(labels_needed, log),
        )

    def triangles(
        self,
        owner_id: Name,
        *,
        at_least: Annotated[float, Field(ge=0, le=1)] = 0.85,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
    ) -> builtins.list[Triangle]:
        """Pairs that a person separated, with a third candidate joined to one and near the other.

        The nearest come first, by the cosine of their own texts. Either the separation or the join
        may be wrong.
        """
        return triangles(self._reader, owner_id, at_least, limit)

    def why(self, some_id: Id, *, owner_id: Name | None = None) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is: the path of its decision.

        If it joined nothing, the path leads to the nearest neighbour that was compared with it.
        """
        require_owned(self._reader, owner_id, some_id)
        return why(self._reader, bare(self._reader, some_id))

    def why_not(self, a: Id, b: Id, *, owner_id: Name | None = None) -> WhyNot:
        """Why two candidates are not in one memory: the reasons, the decisive one first.

        Reasons are `separated`, `judge`, `below`, `not_retrieved`, `guard`, … (docs/proof.md).
        """
        require_owned(self._reader, owner_id, a, b)
        return why_not(self._reader, bare(self._reader, a), bare(self._reader, b))

    def metrics(self) -> str:
        """Metrics of duplicates on arrival, counted from the log, in Prometheus' text format."""
        return viewing.metrics(self._reader)

    def show(
        self, memory_id: Id, *, owner_id: Name | None = None, as_of: int | Time | None = None
    ) -> ShownMemory:
        """A memory with every member, its join and its evidence; any member's id works.

        `timeline` lists the later statements about its members; `as_of` is a position or a time.
        """
        require_owned(self._reader, owner_id, memory_id)
        return viewing.show(self._reader, memory_id, _as_of(as_of))

    def show_candidate(
        self, candidate_id: Id, *, owner_id: Name | None = None, as_of: int | Time | None = None
    ) -> ShownCandidate:
        """A candidate with its decision, its evidence, its timeline and the memory it is in."""
        require_owned(self._reader, owner_id, candidate_id)
        return viewing.show_candidate(self._reader, candidate_id, _as_of(as_of))

    def decisions(
        self,
        *,
        owner_id: Name | None = None,
        decision: KnownDecision | None = None,
        since: Time | None = None,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
        as_of: int | Time | None = None,
    ) -> builtins.list[DecisionRow]:
        """The latest decisions that match, newest last; `as_of` is a position or a time."""
        return viewing.decisions(
            self._reader,
            owner_id=owner_id,
            decision=decision,
            since=optional_moment(since),
            limit=limit,
            as_of=_as_of(as_of),
        )

    def names(self, owner_id: Name) -> Names:
        """The names that texts call an owner by (docs/guard.md, Names)."""
        return {"owner_id": owner_id, "names": [*self._reader.ledger(owner_id).names]}

    def owners_of_session(self, session_id: Name) -> builtins.list[str]:
        """The owners with candidates in a session: usually one."""
        return viewing.owners_of_session(self._reader, session_id)

    def sql(
        self, query: Words, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> builtins.list[dict[str, Any]]:
        """Rows of a query over the analysts' views, as objects by column.

        `parameters` is a list with a value for each `?` in the query, or a dict with one for each
        `$name`. If two columns have the same name, the second is `name_1`. Raises UsageError for a
        bad query.
        """
        return viewing.sql(self._reader, query, parameters)

    @property
    def sql_file(self) -> Path:
        """The DuckDB file of views that analysts open, from any process at any time."""
        return viewing.sql_file(self._reader)

    @property
    def position(self) -> int:
        """The log's last position. Everything up to it is durable."""
        return self._reader.log.head()

    def wait_for(self, position: Position, *, timeout: Seconds = 30.0) -> None:
        """Wait until readers here see the log up to a position that a writer named.

        A store's own calls see what it wrote; this is for another process that was given a
        `position`. Raises TransientError if it is not reached within `timeout` seconds.
        """
        self._reader.wait_for(position, timeout)

    def behind(self) -> int | None:
        """How many records of the decisions topic the store has not followed yet.

        None if no cluster is configured, the store follows none, or no broker answers.
        """
        return self._writer.behind()
