"""A batch run over a store: planned from the log, carried out by the store's writer."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, cast
from uuid import uuid4

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.answers import (
    WITHOUT_MODEL,
    Apart,
    Concluded,
    Pairing,
    RunReport,
    TextSide,
)
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.events import Figures, Ran
from palimpsest.contracts.identity import event_id, run_id, token_of
from palimpsest.contracts.policy import PairsDedupe, Policy
from palimpsest.contracts.requests import ComposedText, RunRequest
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.dedupe import Progress, Proposal, Run, proposals
from palimpsest.streams.dedupe.due import count_current, not_due
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.pairs import Side
from palimpsest.streams.judge.recorded import signed
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.write.handlers.run import figures_of, warnings
from palimpsest.streams.write.owners import fold_owner

_log = logging.getLogger(__name__)

AT = "-"
"""In a plan's token, separates the plan's hash from the log's position when it was made."""
TOLD = 5
"""Maximum number of owners whose changes a refusal reports."""


@dataclass(slots=True)
class Outcomes:
    """The decisions of a run's requests, and the refusals with reasons."""

    decisions: dict[tuple[str, str], str] = field(default_factory=dict)
    refused: list[dict[str, str]] = field(default_factory=list)

    def record(
        self, request: Proposal, answer: Concluded | Apart | RefusedError | TransientError
    ) -> None:
        """Record one answer; a failed request is logged as a warning, and the run continues."""
        pair = request.a, request.b
        if not isinstance(answer, Exception):
            match answer:
                case {"decision_id": str(decision_id)}:
                    self.decisions[pair] = decision_id
                case _:
                    pass  # the two are separate: nothing was joined
            return
        reason = answer.reason if isinstance(answer, RefusedError) else "unanswered"
        _log.warning("%s of %s and %s failed: %s", request.request, *pair, answer)
        self.refused.append(
            {"request": request.request, "a": pair[0], "b": pair[1], "reason": reason}
        )

    def joined(self, joins: Sequence[Pairing]) -> list[dict[str, Any]]:
        """The joins that were not refused, each with its decision, if any was made."""
        refused = {(refusal["a"], refusal["b"]) for refusal in self.refused}
        pairs = [(join["older"], join["newer"]) for join in joins]
        return [
            {**join, "decision_id": self.decisions.get(pair)}
            for join, pair in zip(joins, pairs, strict=True)
            if pair not in refused
        ]


class Planned(NamedTuple):
    """What a dry run found for an owner: how many events it had, and what would be joined."""

    events: int | None = None
    joins: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requested batch run: its owner, when it was due, and the actor.

    `force` ignores the policy's conditions. `plan` is the token of a dry run: the run must do
    exactly what that showed. `planned` has, by owner, what a repetition of that dry run found.
    """

    due: datetime
    owner_id: str | None = None
    dry_run: bool = False
    force: bool = False
    plan: str | None = None
    actor: str | None = None
    because: str | None = None
    planned: Mapping[str, Planned] = field(default_factory=dict)

    def request(self, owner_id: str, figures: Figures | None = None) -> RunRequest:
        """The request for one owner's run; with `figures` it records a run carried out already."""
        return RunRequest(
            request_id=str(uuid4()),
            actor=self.actor,
            because=self.because,
            owner_id=owner_id,
            step="dedupe",
            due=self.due,
            force=self.force or figures is not None,
            dry_run=self.dry_run,
            figures=figures,
            expect=None if figures is not None else self.planned.get(owner_id, Planned()).events,
        )

    def require_planned(self, owner_id: str, joins: Sequence[Pairing], policy: str) -> None:
        """Raise RefusedError if an owner's joins under this policy differ from the planned ones."""
        if plan_of(policy, joins) != self.planned[owner_id].joins:
            raise RefusedError("moved_on", f"{owner_id} has changed since the run was planned")


async def dedupe(
    writer: StoreWriter, judge: PairJudge, wanted: Wanted, progress: Progress
) -> dict[str, Any]:
    """Run the batch rules of the policy in force over every owner or one; returns a summary.

    A dry run writes nothing to the log, but asks the judge like a real run, which then finds the
    answers in the cache. Raises RefusedError if the policy has no batch rules, or if the run would
    now differ from its plan; RefusedError or ModelError if the embedding model is down when a text
    is composed.
    """
    if wanted.plan is not None and not wanted.dry_run:
        wanted = await _as_shown(writer, judge, wanted, wanted.plan, progress)
    policy, position = writer.reader.policy_in_force(), writer.reader.log.head()
    _require_batch_rules(policy)
    owners = writer.reader.owners(wanted.owner_id)
    if wanted.plan is not None and not wanted.dry_run:
        owners = [owner for owner in owners if owner in wanted.planned]  # others came since
    batch = _BatchRun(writer, judge, wanted, Run(progress))
    runs: list[RunReport] = []
    for number, owner in enumerate(owners):
        progress("comparing memories", number / len(owners))
        by_pairs = isinstance(policy.dedupe, PairsDedupe)
        runs.append(await (batch.by_the_writer(owner) if by_pairs else batch.by_parts(owner)))
    run, outcomes = batch.run, batch.outcomes
    return {
        "policy": policy.name,
        "dry_run": wanted.dry_run,
        "plan": f"{plan_of(policy.name, run.joins)}{AT}{position}",
        "owners": len(runs),
        "memories": run.memories,
        "pairs": run.pairs,
        "all_pairs": run.all_pairs,
        "asked": dict(run.asked),
        "why_left": dict(run.why_left),
        "left": run.left + run.unanswered,
        "joined": outcomes.joined(run.joins),
        "refused": outcomes.refused,
        "runs": runs,
    }


def _require_batch_rules(policy: Policy) -> None:
    if policy.dedupe is None:
        having = ", ".join(name for name in preset_names() if load_policy(name).dedupe)
        raise RefusedError(
            "no_batch_rules",
            f"the policy in force, {policy.name}, has no [dedupe] section: it compares memories as"
            f" they come in; `palimpsest policy set` chooses one that has it ({having})",
        )


async def _as_shown(
    writer: StoreWriter, judge: PairJudge, wanted: Wanted, plan: str, progress: Progress
) -> Wanted:
    """The run, planned again; RefusedError if the new plan differs from the one that was shown."""
    now = await dedupe(writer, judge, replace(wanted, dry_run=True), progress)
    shown, _, position = plan.partition(AT)
    if now["plan"].partition(AT)[0] != shown:
        raise RefusedError(
            "another_plan",
            "what would be joined is not what was shown: "
            f"{_changes_since(writer, wanted, position)}. Look at it again",
        )
    joins: dict[str, list[Pairing]] = defaultdict(list)
    for join in now["joined"]:
        joins[join["owner_id"]].append(join)
    return replace(
        wanted,
        planned={
            run["owner_id"]: Planned(
                run.get("events"), plan_of(now["policy"], joins[run["owner_id"]])
            )
            for run in now["runs"]
        },
    )


def _changes_since(writer: StoreWriter, wanted: Wanted, position: str) -> str:
    """Describe the events after a position of the log, for a few owners at most."""
    log = writer.reader.log
    if not re.fullmatch(r"\d{1,18}", position) or (after := int(position)) > log.head():
        return "the plan does not say when it was made"
    policies = [found and found.data.hash for found in (log.last_policy(after), log.last_policy())]
    told = ["the policy has changed"] if policies[0] != policies[1] else []
    owners = sorted(filter(None, log.owners_since(after, upto=log.head())))
    for owner in [owner for owner in owners if wanted.owner_id in (None, owner)][:TOLD]:
        events = [recorded.event for recorded in log.of_owner(owner, after=after)]
        kinds = Counter(
            getattr(event.data, "decision", None) or type(event).__name__.lower()
            for event in events
        )
        told.append(f"{owner} has {', '.join(f'{n} {kind}' for kind, n in kinds.items())}")
    if not told:
        return "nothing was recorded since, so the judge's answers have changed"
    return f"since then {'; '.join(told)}"


@dataclass(frozen=True, slots=True)
class _BatchRun:
    """Runs the batch rules over owners, one after another."""

    writer: StoreWriter
    judge: PairJudge
    wanted: Wanted
    run: Run
    outcomes: Outcomes = field(default_factory=Outcomes)

    async def by_the_writer(self, owner: str) -> RunReport:
        """A run whose joins the owner's writer makes in one commit."""
        wanted, run = self.wanted, self.run
        composed = await self._composed(owner)
        request = wanted.request(owner).model_copy(update={"composed": composed})
        if composed and owner in wanted.planned:
            trial = self.writer.ask(request.model_copy(update={"dry_run": True}))
            policy = self.writer.reader.policy_in_force().name
            wanted.require_planned(owner, trial.get("joined", ()), policy)
        answer = self.writer.ask(signed(request, self.judge))
        figures = answer.get("figures", {})
        run.memories += int(figures.get("memories_before", 0))
        run.pairs += int(figures.get("pairs", 0))
        run.all_pairs += int(figures.get("pairs", 0))
        run.left += int(figures.get("left", 0))
        for joined in answer.pop("joined", ()):
            run.joins.append(joined)
            if not wanted.dry_run:
                pair = joined["older"], joined["newer"]
                self.outcomes.decisions[pair] = joined["decision_id"]
        answer.pop("to_compose", None)
        return answer

    async def _composed(self, owner: str) -> tuple[ComposedText, ...]:
        """The texts that the judge composes for an owner's run, if the policy's rule asks for them.

        A later text may be composed of an earlier one, so the run is tried until no text is
        missing. Once the judge is unavailable, missing texts wait for the next run.
        """
        policy = self.writer.reader.policy_in_force()
        assert isinstance(policy.dedupe, PairsDedupe)
        if policy.dedupe.equal == "concatenate" or not policy.judge.enabled:
            return ()
        texts: list[ComposedText] = []
        trial = replace(self.wanted, dry_run=True)
        while not self.run.unanswered:
            request = trial.request(owner).model_copy(update={"composed": tuple(texts)})
            lacking = self.writer.ask(request).get("to_compose", ())
            if not lacking:
                break
            self.run.progress("composing", None)
            for text in lacking:
                made = await self.judge.compose([*map(_side, text["sides"])])
                self.run.count(made.verdict)
                if made.verdict.answer == "unavailable":
                    self.run.left -= 1  # the run itself counts the pair as left
                    break
                sources = tuple(text["sources"])
                texts.append(ComposedText(sources=sources, text=made.text, verdict=made.verdict))
        return tuple(texts)

    async def by_parts(self, owner: str) -> RunReport:
        """A run that asks the judge: planned here, requested part by part, then recorded."""
        wanted, reader = self.wanted, self.writer.reader
        report: RunReport = {"owner_id": owner, "step": "dedupe"}
        before = reader.log.find(event_id(run_id(owner, "dedupe", wanted.due), "0"))
        if before is not None and isinstance(before.event, Ran):
            return report | {"figures": before.event.data.figures, "done_before": True}
        policy, ledger = reader.policy_in_force(), fold_owner(reader.log, owner)
        advance(ledger, ledger.at(reader.clock()))
        assert policy.dedupe is not None, "`dedupe` has checked it"
        skipped = None if wanted.force else not_due(ledger, policy.dedupe, "dedupe", wanted.due)
        if skipped is not None:
            return report | {"skipped": {"reason": skipped.reason, "detail": skipped.detail}}
        began, living_before = time.perf_counter(), count_current(ledger)
        joined, refused = len(self.run.joins), len(self.outcomes.refused)
        self.run.seen = ledger.seen
        await self._carry_out(owner, policy, proposals(ledger, policy, self.judge, self.run))
        ledger.dissolve()
        removed = len(self.run.joins) - joined - (len(self.outcomes.refused) - refused)
        took = round((time.perf_counter() - began) * 1000, 1)
        figures = figures_of(living_before, living_before - removed, took)
        report |= {"figures": figures, "warnings": [*warnings(figures)]}
        if not wanted.dry_run:
            report["ran"] = self.writer.ask(wanted.request(owner, figures))["ran"]
        return report

    async def _carry_out(
        self, owner: str, policy: Policy, proposed: AsyncIterator[Sequence[Proposal]]
    ) -> None:
        """Carry the proposals out, part by part; if they were planned, once all are as planned."""
        if owner in self.wanted.planned:
            earlier = len(self.run.joins)
            parts = [part async for part in proposed]
            self.wanted.require_planned(owner, self.run.joins[earlier:], policy.name)
            for part in parts:
                carry_out(self.writer, self.judge, part, self.outcomes)
            return
        async for part in proposed:
            if not self.wanted.dry_run:
                carry_out(self.writer, self.judge, part, self.outcomes)


def _side(shown: TextSide) -> Side:
    moment = datetime.fromisoformat(shown["moment"])
    return Side(shown["candidate_id"], shown["text"], moment, shown["local"])


def carry_out(
    writer: StoreWriter, judge: PairJudge, part: Sequence[Proposal], outcomes: Outcomes
) -> None:
    """Send requests together, or one by one if the writer did not answer in time.

    Requests are idempotent: one that was already carried out has no further effect. Raises the
    refusal if the embedding model cannot be used, so that the run is not recorded and can be
    repeated.
    """
    answers: Sequence[Concluded | Apart | RefusedError | TransientError]
    part = [signed(request, judge) for request in part]
    try:
        answers = writer.ask_each(part)
    except TransientError:
        answers = [_one(writer, request) for request in part]
    for request, answer in zip(part, answers, strict=True):
        outcomes.record(request, answer)
        if isinstance(answer, RefusedError) and answer.reason in WITHOUT_MODEL:
            raise answer


def _one(
    writer: StoreWriter, request: Proposal
) -> Concluded | Apart | RefusedError | TransientError:
    try:
        return cast("Concluded | Apart", writer.ask(request))
    except (RefusedError, TransientError) as error:
        return error


def plan_of(policy: str, joins: Sequence[Pairing]) -> str:
    """The hash of a plan, which depends on its joins, their texts and the policy."""
    parts = [
        [join[name] for name in ("owner_id", "decision", "older", "newer")]
        + [join["older_text"], join["newer_text"], join.get("composed", ""), join.get("face", "")]
        for join in joins
    ]
    return token_of([[policy], *sorted(parts)])
