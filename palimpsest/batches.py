"""What is done to many memories at once: by a selection, batch runs, reviews, a person's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypedDict, TypeVar, Unpack
from uuid import uuid4

from pydantic import Field

from palimpsest import queueing
from palimpsest.calls import Id, checked
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.requests import (
    AnyRequest,
    ConfirmRequest,
    JoinSelection,
    MergeRequest,
    ReinstateManyRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    UnmergeRequest,
)
from palimpsest.deduping import dedupe
from palimpsest.judging import JudgeOnDemand
from palimpsest.reader import MOST, Reader
from palimpsest.reviewing import review
from palimpsest.streams.dedupe import Progress
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.write.desk import Answer

Result = TypeVar("Result")


def _untold(_what: str, _share: float | None) -> None:
    """Nobody watches."""


class Said(TypedDict, total=False):
    """Who says it, and why; both are recorded with what they did."""

    actor: str | None
    because: str | None


def fresh() -> str:
    """The id of a request that nobody has made before."""
    return str(uuid4())


@checked
class Batches(Reader):
    """An open store whose memories are compared, reviewed and asked about.

    Runs that ask the judge have an event loop of their own: within another, call them by
    `asyncio.to_thread`.
    """

    def dedupe(
        self,
        *,
        owner_id: Name | None = None,
        dry_run: bool = False,
        judge: JudgeSettings | None = None,
        progress: Progress = _untold,
    ) -> dict[str, Any]:
        """Run the policy's batch rules, over one owner's memories if `owner_id` names it.

        Returns what was compared, asked and joined, and what the judge's calls cost. With `dry_run`
        nothing is written, but the judge is asked: the real run finds its answers. RefusedError
        where the policy has no batch rules; UsageError where the judge cannot be used.
        """

        async def run() -> dict[str, Any]:
            async with self._judge(judge, recorded=not dry_run) as asked:
                done = await dedupe(
                    self._desk, asked, owner_id=owner_id, dry_run=dry_run, progress=progress
                )
                return {**done, "cost": asked.cost()}

        return _run(run())

    def review(
        self,
        *,
        owner_id: Name | None = None,
        judge: JudgeSettings | None = None,
        progress: Progress = _untold,
    ) -> dict[str, Any]:
        """Review every rejection, or one owner's.

        Exact repeats are confirmed, the stronger model sees the rest. Of `left`, those that it was
        `asked` about and gave nothing usable wait for a person; those that are `unavailable` there
        wait for the next run.
        """

        async def run() -> dict[str, Any]:
            async with self._judge(judge) as asked:
                done = await review(self._desk, asked, owner_id=owner_id, progress=progress)
                return {**done, "cost": asked.cost()}

        return _run(run())

    def _judge(self, settings: JudgeSettings | None, *, recorded: bool = True) -> JudgeOnDemand:
        rules = self._desk.policy_in_force().judge
        return JudgeOnDemand(self.folder, rules, settings or JudgeSettings(), recorded=recorded)

    def reinstate_many(
        self, selection: JoinSelection, *, dry_run: bool = False, **said: Unpack[Said]
    ) -> Answer:
        """Take back the reversal of every join that a selection means; `dry_run` names them."""
        request = ReinstateManyRequest(
            request_id=fresh(), selection=selection, dry_run=dry_run, **said
        )
        return self._do(request, dry_run)

    def reverse(
        self, selection: JoinSelection, *, dry_run: bool = False, **said: Unpack[Said]
    ) -> Answer:
        """Un-merge every join that a selection means, exact repeats apart; `dry_run` names them."""
        request = ReverseRequest(request_id=fresh(), selection=selection, dry_run=dry_run, **said)
        return self._do(request, dry_run)

    def retract(
        self, selection: Selection, *, dry_run: bool = False, **said: Unpack[Said]
    ) -> Answer:
        """Take candidates out of life and search, reversibly; their joins stay."""
        request = RetractRequest(request_id=fresh(), selection=selection, dry_run=dry_run, **said)
        return self._do(request, dry_run)

    def restore(
        self, selection: Selection, *, dry_run: bool = False, **said: Unpack[Said]
    ) -> Answer:
        """Bring retracted candidates back."""
        request = RestoreRequest(request_id=fresh(), selection=selection, dry_run=dry_run, **said)
        return self._do(request, dry_run)

    def _do(self, request: AnyRequest, dry_run: bool) -> Answer:
        return self._desk.rehearse(request) if dry_run else self._desk.ask(request)

    def next_review(
        self, *, owner_id: Name | None = None, skip: Annotated[int, Field(ge=0, le=MOST)] = 0
    ) -> dict[str, Any] | None:
        """What a person is asked next, about anybody's memories or one owner's; None for nothing.

        A pair of texts, and what was decided about it; `skip` leaves out the first so many, which
        the person cannot tell.
        """
        return queueing.next_question(self._desk, owner_id=owner_id, skip=skip)

    def review_same(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        actor: str | None = None,
        because: str | None = None,
    ) -> Answer:
        """A person says that a pair is the same: as `next_review` names it, by both ids.

        A pending pair is merged, a join confirmed. RefusedError where that pair does not wait.
        """
        row = queueing.question_about(self._desk, decision_id, existing_id)
        said: dict[str, Any] = {"request_id": fresh(), "actor": actor, "because": because}
        request: AnyRequest = (
            MergeRequest(**said, a=row["existing_id"], b=row["candidate_id"])
            if row["waits_as"] == "pending"
            else ConfirmRequest(**said, decision_id=decision_id)
        )
        return self._desk.ask(request)

    def review_different(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        actor: str | None = None,
        because: str | None = None,
    ) -> Answer:
        """A person says that it is not: a pending pair is separated, a join taken out."""
        row = queueing.question_about(self._desk, decision_id, existing_id)
        said: dict[str, Any] = {"request_id": fresh(), "actor": actor, "because": because}
        request: AnyRequest = (
            SeparateRequest(**said, a=row["existing_id"], b=row["candidate_id"])
            if row["waits_as"] == "pending"
            else UnmergeRequest(**said, decision_id=decision_id)
        )
        return self._desk.ask(request)


def _run(doing: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end on an event loop of its own; UsageError within one that runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(doing)
    doing.close()
    raise UsageError(
        "this call has an event loop of its own: within a running one, await it by"
        " asyncio.to_thread"
    )
