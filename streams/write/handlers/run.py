"""Batch runs of a policy's steps over one owner's memories (docs/policies.md).

Owner, step and due time identify a run, so it is done once, however often it is requested. Its
joins and the event that records it are one commit. If the rule asks the judge, its joins are
requested one by one from outside (`palimpsest.jobs.dedupe`); then this module only checks the
conditions and records the run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

from palimpsest.contracts.answers import RunJoin, RunReport, TextToCompose
from palimpsest.contracts.commands import RecordRun
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import Figures, Joined, Ran
from palimpsest.contracts.identity import event_id, run_id
from palimpsest.contracts.policy import Dedupe, PairsDedupe
from palimpsest.contracts.requests import ComposedText, RunRequest
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.dedupe.by_pairs import by_pairs, combine_command
from palimpsest.streams.dedupe.due import count_current, not_due
from palimpsest.streams.dedupe.run import Run, ToCompose, pairing
from palimpsest.streams.write.executor import Executor

_log = logging.getLogger(__name__)

TOO_MANY = 0.5
"""A run that removes more than this share of an owner's memories gets a warning."""
TOO_LONG_MS = 60_000.0
"""A run that takes longer gets a warning."""
AHEAD_SECONDS = 300.0
"""How far another machine's clock may be ahead: a run due later than that is refused."""


def carry_out_run(executor: Executor, request: RunRequest) -> RunReport:
    """Run a step of the policy, unless it is skipped; a repeated run gets its recorded answer.

    Raises RefusedError for an owner without memories, a policy without batch rules, a run due in
    the future, or an owner whose number of events is not the expected one; UsageError for a step or
    a rule that no request carries out alone.
    """
    run = run_id(request.owner_id, request.step, request.due)
    found = executor.log.find(event_id(run, "0"))
    if found is not None and isinstance(found.event, Ran):
        return _as_recorded(executor, found.event, run)
    ledger = executor.ledger(request.owner_id)
    events = ledger.seen
    if request.expect not in (None, events):
        raise RefusedError("moved_on", f"{request.owner_id} has changed since the run was planned")
    rule = _rule(executor, request, ledger)
    skipped = None
    if rule is not None and not request.force:
        skipped = not_due(ledger, rule, request.step, request.due)
    if skipped is not None:
        answer: RunReport = {
            "owner_id": request.owner_id,
            "step": request.step,
            "skipped": {"reason": skipped.reason, "detail": skipped.detail},
        }
        if request.dry_run:
            answer["events"] = events
        return answer
    figures, joined = dict(request.figures or {}), list[RunJoin]()
    lacking: Sequence[ToCompose] = ()
    if isinstance(rule, PairsDedupe) and request.figures is None:
        figures, joined, lacking = _carry_out_joins(executor, ledger, rule, run, request.composed)
    record = RecordRun(
        command_id=run,
        owner_id=request.owner_id,
        actor=request.actor,
        because=request.because,
        step=request.step,
        due=request.due,
        figures=figures,
    )
    executor.run(record)
    for warning in warnings(figures):
        _log.warning("%s of owner %r: %s", request.step, request.owner_id, warning)
    answer = _answer(request.owner_id, request.step, run, figures, joined)
    if request.dry_run:
        answer |= {"to_compose": [*map(_described, lacking)], "events": events}
    return answer


def _described(lacking: ToCompose) -> TextToCompose:
    """A text to compose, as `palimpsest.jobs.dedupe` reads it."""
    return {
        "sides": [
            {
                "candidate_id": side.candidate_id,
                "text": side.text,
                "moment": side.moment.isoformat(),
                "local": side.local,
            }
            for side in lacking.sides
        ],
        "sources": [*lacking.sources],
    }


def _rule(executor: Executor, request: RunRequest, ledger: Ledger) -> Dedupe | None:
    """The batch rule of the policy in force; None for a step that has no rule, such as a review."""
    if not ledger.entries:
        raise RefusedError("unknown_owner", f"there is no owner {request.owner_id}")
    if (request.due - executor.clock()).total_seconds() > AHEAD_SECONDS:
        raise RefusedError("not_due", f"the run is due at {request.due.isoformat()}")
    if request.step != "dedupe":
        if request.figures is None:
            raise UsageError(f"the step {request.step} is not carried out by a request alone")
        return None
    rule = executor.policy.dedupe
    if rule is None:
        raise RefusedError(
            "no_batch_rules",
            f"the policy in force, {executor.policy.name}, has no [dedupe] section",
        )
    if request.figures is None and not isinstance(rule, PairsDedupe):
        raise UsageError(f"the rule {rule.rule} asks the judge: `palimpsest dedupe` carries it out")
    return rule


def _carry_out_joins(
    executor: Executor,
    ledger: Ledger,
    rule: PairsDedupe,
    run: str,
    composed: Sequence[ComposedText],
) -> tuple[Figures, list[RunJoin], list[ToCompose]]:
    """Make the joins; returns the figures, the joins, and texts to compose for further joins."""
    began, before, seen = time.perf_counter(), count_current(ledger), Run(_unreported)
    joined: list[RunJoin] = []
    for planned in by_pairs(ledger, executor.policy, rule, seen, composed):
        # Described before it is made.
        described = pairing(planned.near, planned.decision, planned.verdict)
        speaks = planned.near.newer if planned.face == "take" else planned.near.older
        described["face"] = planned.text or speaks.memory.text
        command = combine_command(ledger, executor.policy, planned, run, executor.content)
        [event] = executor.run(command)[:1]
        joined.append({"decision_id": event.id, **described})
    after = count_current(ledger)
    counted = {"pairs": seen.pairs, "left": seen.left}
    took = round((time.perf_counter() - began) * 1000, 1)
    return figures_of(before, after, took) | counted, joined, seen.lacking


def _unreported(_what: str, _share: float | None) -> None:
    """Ignore progress: a run within the writer is over before it could be reported."""


def figures_of(before: int, after: int, duration_ms: float) -> Figures:
    """The figures of every run: memories before, after and removed, and the duration."""
    removed = before - after
    return {
        "memories_before": before,
        "memories_after": after,
        "removed_count": removed,
        "removal_rate": round(removed / before, 4) if before else 0.0,
        "duration_ms": duration_ms,
    }


def warnings(figures: Figures) -> Iterator[str]:
    """Warnings for a person: a run removed too much, or took too long."""
    if figures.get("removal_rate", 0) > TOO_MANY:
        share = f"{figures['removal_rate']:.0%} of the memories were absorbed"
        yield f"{share}: the threshold may be too low"
    if figures.get("duration_ms", 0) > TOO_LONG_MS:
        yield f"it took {figures['duration_ms'] / 1000:.0f} s"


def _as_recorded(executor: Executor, event: Ran, run: str) -> RunReport:
    """The answer of a run that was done before, from the log."""
    joins = [
        event
        for event in executor.recorded(event.owner_id)
        if isinstance(event, Joined) and event.data.cause == run
    ]
    entries = executor.ledger(event.owner_id).entries
    joined: list[RunJoin] = [
        {
            "decision_id": join.id,
            "owner_id": join.owner_id,
            "decision": join.data.decision,
            "similarity": join.data.join.similarity,
            "older": join.data.join.to,
            "newer": join.data.candidate_id,
            "older_text": entries[join.data.join.to].text,
            "newer_text": entries[join.data.candidate_id].text,
            "reasoning": None,
        }
        for join in joins
    ]
    answer = _answer(event.owner_id, event.data.step, run, event.data.figures, joined)
    answer["done_before"] = True
    return answer


def _answer(
    owner_id: str, step: str, run: str, figures: Figures, joined: list[RunJoin]
) -> RunReport:
    return {
        "owner_id": owner_id,
        "step": step,
        "ran": event_id(run, "0"),
        "figures": figures,
        "warnings": [*warnings(figures)],
        "joined": joined,
    }
