"""Runs over many memories: reviews, batch rules, verdicts and late vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Unpack, cast

from pydantic import Field

from palimpsest.api.arguments import Attribution, Id, Time, optional_moment
from palimpsest.api.calls import check_calls, run_to_end
from palimpsest.api.opened import late_settings
from palimpsest.api.statements import Statements
from palimpsest.contracts.answers import (
    Agreed,
    Apart,
    Concluded,
    Merged,
    PolicyInForce,
    Recomposed,
    Restorations,
    Unmerged,
)
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.identity import digest, event_id
from palimpsest.contracts.limits import MOST
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requested import name_request, request_id
from palimpsest.contracts.requests import ComposeRequest, Selection, SettleRequest
from palimpsest.jobs import review_queue
from palimpsest.jobs.dedupe import Wanted, dedupe
from palimpsest.jobs.embed import (
    EmbeddedAhead,
    EmbeddingPlan,
    OldVectors,
    drop_old_vectors,
    embed_ahead,
    embed_late,
    plan_embedding,
    switch_model,
)
from palimpsest.jobs.judge_on_demand import JudgeOnDemand
from palimpsest.jobs.questions import TableQuestions, TableReading, call_here
from palimpsest.jobs.review import review
from palimpsest.queries.ids import require_owned
from palimpsest.streams.embedder import EmbedderSettings, EmbedFunction, Progress, ignore_progress
from palimpsest.streams.judge.batching import PATIENCE_SECONDS, Batcher, BatchSettings
from palimpsest.streams.judge.own import JudgeFunction
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import JudgeWorker
from palimpsest.streams.policies import load_policy


@check_calls
class Runs(Statements):
    """Asks people and the judge, and carries out what they answer."""

    def next_review(
        self, *, owner_id: Name | None = None, skip: Annotated[int, Field(ge=0, le=MOST)] = 0
    ) -> dict[str, Any] | None:
        """The next question for a person, about any memories or one owner's; None if none waits.

        It is a pair of texts with its decision. `skip` passes over that many questions, which the
        person could not decide.
        """
        return review_queue.next_question(self._reader, owner_id=owner_id, skip=skip)

    def review_same(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Merged | Agreed:
        """Record that a pair is the same; `next_review` gives both ids.

        A pending pair is merged, and a join is confirmed; a text that repeats a forgotten one stays
        out. Raises RefusedError if that pair does not wait for a review.
        """
        require_owned(self._reader, owner_id, decision_id, existing_id)
        name, asked = _named("same", decision_id, existing_id)
        answered: Merged | Agreed | None = self._answered(name, asked)
        if answered is not None:
            return answered
        row = review_queue.question_about(self._reader, decision_id, existing_id)
        with name_request(name, asked):
            if row["waits_as"] == "pending":
                return self.merge(row["existing_id"], row["candidate_id"], **attribution)
            return self.confirm(decision_id, **attribution)

    def review_different(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Apart | Restorations | Unmerged:
        """Record that a pair is different: a pending pair is separated, a join removed.

        A text that waits because of a forgotten one is stored and separated from it, which are two
        requests, so the answer names no `undo`; if the two are the same text, it is only stored.
        """
        require_owned(self._reader, owner_id, decision_id, existing_id)
        name, asked = _named("different", decision_id, existing_id)
        answer: Any = self._answered(name, asked)
        if answer is None:
            row = review_queue.question_about(self._reader, decision_id, existing_id)
            with name_request(name, asked):
                if row["waits_as"] == "pending":
                    return self.separate(row["existing_id"], row["candidate_id"], **attribution)
                if row["waits_as"] != "forgotten":
                    return self.unmerge(decision_id=decision_id, by="person", **attribution)
                answer = self.restore(Selection(candidate_id=row["candidate_id"]), **attribution)
        for candidate_id in answer.get("restored", ()):  # also if the call before ended here
            if not self._is_same_text(decision_id, existing_id, candidate_id):
                with name_request(event_id(name, "separate"), asked):
                    self.separate(existing_id, candidate_id, **attribution)
                answer.pop("undo", None)
        return cast("Apart | Restorations | Unmerged", answer)

    def _is_same_text(self, decision_id: str, *pair: str) -> bool:
        owner_id = self._reader.log.owner_of(decision_id)
        assert owner_id is not None, "the decision has been reviewed"
        entries = self._reader.ledger(owner_id).entries
        return len({entries[candidate_id].distinct.hash for candidate_id in pair}) == 1

    def dedupe(
        self,
        *,
        owner_id: Name | None = None,
        dry_run: bool = False,
        force: bool = False,
        plan: str | None = None,
        due: Time | None = None,
        judge: JudgeSettings | JudgeFunction | None = None,
        progress: Progress = ignore_progress,
        **attribution: Unpack[Attribution],
    ) -> dict[str, Any]:
        """Run the policy's batch rules, over one owner's memories if `owner_id` is given.

        Returns the numbers compared, asked and joined, the cost of the judge's calls, and for each
        owner the figures of the run, or which of the policy's conditions skipped it; with `force`,
        none does. A run of one owner that was `due` at a time (default: now) is done once, however
        often it is requested. `dry_run` writes nothing, but asks the judge; the real run uses the
        cached answers. Given the `plan` from a dry run's answer, the run does exactly what the dry
        run showed.
        `judge` defaults to the settings of the commands: PALIMPSEST_JUDGE_* and `[judge]` of
        ./palimpsest.toml; it may also be a function of the older and the newer text. Raises
        RefusedError if the run would no longer do what `plan` showed, or if the policy has no
        batch rules; UsageError if the judge cannot be used.
        """
        wanted = Wanted(
            optional_moment(due) or datetime.now(UTC), owner_id, dry_run, force, plan, **attribution
        )

        async def run() -> dict[str, Any]:
            async with self._judge(judge, recorded=not dry_run) as asked:
                done = await dedupe(self._writer, asked, wanted, progress)
                return {**done, "cost": asked.cost()}

        return run_to_end(run())

    def review(
        self,
        *,
        owner_id: Name | None = None,
        due: Time | None = None,
        judge: JudgeSettings | JudgeFunction | None = None,
        progress: Progress = ignore_progress,
    ) -> dict[str, Any]:
        """Review all rejections, or those of one owner; a run `due` at a time is done once.

        Exact repeats are confirmed, and the stronger model reviews the others. `left` counts the
        decisions without an answer: if the model was `asked`, they wait for a person; if it was
        `unavailable`, for the next run. `judge` is as for `dedupe`.
        """

        async def run() -> dict[str, Any]:
            async with self._judge(judge) as asked:
                done = await review(
                    self._writer,
                    asked,
                    owner_id=owner_id,
                    due=optional_moment(due),
                    progress=progress,
                )
                return {**done, "cost": asked.cost()}

        return run_to_end(run())

    def ask_judge(
        self,
        *,
        judge: JudgeSettings | JudgeFunction | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> dict[str, Any]:
        """Ask the judge about all pending candidates and settle them, as `verifier --once` does.

        `judge` is as for `dedupe`. An outage of the service may last for `patience` seconds before
        the policy's fallback decides. Returns the numbers of questions, answers, outcomes and
        questions `left` without a usable answer, the `calls`, their cost in `usd`, and the number
        of candidates still `waiting`.
        """

        async def run() -> dict[str, Any]:
            questions = TableQuestions(TableReading(self._writer), call_here)
            async with self._judge(judge) as asked:
                batcher = Batcher(BatchSettings(patience=patience))
                worker = JudgeWorker(questions, Verifier(lambda _: asked, batcher), lambda _: None)
                try:
                    tally = await worker.run(asyncio.Event(), once=True)
                finally:
                    await batcher.close()
            return tally.document(await questions.waiting())

        return run_to_end(run())

    def _judge(
        self, judge: JudgeSettings | JudgeFunction | None, *, recorded: bool = True
    ) -> JudgeOnDemand:
        rules = self._reader.policy_in_force().judge
        return JudgeOnDemand(self.folder, rules, judge or late_settings().judge, recorded=recorded)

    def embed(
        self,
        *,
        owner_id: Name | None = None,
        long: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, int]:
        """Embed texts that were stored while the model was down: all, or one owner's.

        With `long`, embed instead the ends of texts longer than the model's input, if the texts
        were stored by a version that did not embed them. Returns the numbers `embedded` and `left`;
        `progress` receives both as the run goes on, and `dry_run` embeds nothing. The texts are not
        decided on again. Raises RefusedError if the model is still down.
        """
        return embed_late(self._writer, owner_id, progress, long=long, dry_run=dry_run)

    def embed_with(
        self,
        model: Name | None = None,
        *,
        embedder: EmbedderSettings | EmbedFunction | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> EmbeddedAhead:
        """Record vectors of another model beside those in force, for every text without one.

        The model runs on this machine, in the store's engine, unless an `embedder` is given, as in
        `open`. Texts are compared by the old vectors until `switch_model`. After an interruption,
        the next run continues where this one stopped. `progress` receives how many texts are done,
        and how many are left.
        """
        return embed_ahead(self._writer, self._reader.engine_of(model, embedder), progress)

    def plan_embedding(
        self, model: Name | None = None, *, embedder: EmbedderSettings | EmbedFunction | None = None
    ) -> EmbeddingPlan:
        """What `embed_with` would take: texts, seconds (estimated), bytes. Records nothing."""
        return plan_embedding(self._writer, self._reader.engine_of(model, embedder))

    def switch_model(
        self, model: Name, *, policy: str | Policy | None = None, actor: Name | None = None
    ) -> PolicyInForce:
        """Compare texts by their vectors of another model from here on.

        `policy` has the thresholds for it; without one, the current thresholds stay, although they
        were set for the old model. Earlier decisions stay. Raises UsageError if the policy is for a
        third model, RefusedError if the model is in force already, or any text lacks its vector.
        """
        rules = None if policy is None else load_policy(policy)
        return switch_model(self._writer, model, rules, actor)

    def drop_old_vectors(self, *, actor: Name | None = None, dry_run: bool = False) -> OldVectors:
        """Stop loading vectors of models that are not in force; the log keeps them."""
        return drop_old_vectors(self._writer, actor, dry_run=dry_run)

    def settle(self, requests: Sequence[SettleRequest]) -> list[Concluded | RefusedError]:
        """Deliver the judge's verdicts about pending candidates.

        Returns an answer or a refusal for each.
        """
        return self._writer.ask_each(requests)

    def compose(self, request: ComposeRequest) -> Recomposed:
        """Deliver a recomposed text for a memory that needs one."""
        return self._writer.ask(request)


def _named(answer: str, decision_id: str, existing_id: str) -> tuple[str, str]:
    """The id of the request that records an answer about a pair, and a digest of that answer."""
    return request_id(), digest(f"review {answer} {decision_id} {existing_id}".encode())[:32]
