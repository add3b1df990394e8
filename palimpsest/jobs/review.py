"""Reviews exact repeats without a model, other rejections with a stronger one (docs/design.md)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.commands import Unmerge
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import RANKS, BatchStep, Figures
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import event_id, run_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest, ConfirmRequest, RunRequest, UnmergeRequest
from palimpsest.jobs.judge_on_demand import ReviewJudge
from palimpsest.streams.core.ledger import Edge, Ledger
from palimpsest.streams.core.local_only import is_local
from palimpsest.streams.core.moment import moment
from palimpsest.streams.core.operate import unmerge
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.separations import statement_on
from palimpsest.streams.dedupe import Progress
from palimpsest.streams.judge.pairs import FAILED, JudgedPair, Side
from palimpsest.streams.judge.recorded import signed
from palimpsest.streams.write.owners import fold_owner

REJECTIONS = frozenset(
    {"token_reject", "session_reject", "auto_reject", "llm_reject", "fallback_reject"}
)
"""Decisions that reject a text as a duplicate: a review checks these."""
STEP: BatchStep = "review"
COUNTED = ("exact", "confirmed", "reversed", "refused", "left")
"""The figures of a review, by their names in the answer."""
NOT_ASKED = "the service did not answer before"
BATCH_SIZE = 500
"""Number of reviews that are sent together."""


@dataclass(slots=True)
class ReviewResult:
    """The result of a review: counts, reversed decisions, and refusals with their reasons."""

    exact: int = 0
    confirmed: int = 0
    reversed: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    why_left: Counter[str] = field(default_factory=Counter)

    def document(self) -> dict[str, Any]:
        """The command's answer; `left` counts the decisions without a usable answer.

        `why_left` counts them by reason.
        """
        return {
            "exact": self.exact,
            "confirmed": self.confirmed,
            "reversed": self.reversed,
            "refused": self.refused,
            "asked": dict(self.asked),
            "left": self.asked["unavailable"] + self.asked["unusable"],
            "why_left": dict(self.why_left),
        }

    def figures(self) -> Figures:
        """What was done so far, as the figures of a run."""
        counted = self.document() | {"reversed": len(self.reversed), "refused": len(self.refused)}
        return {name: counted[name] for name in COUNTED}


async def review(
    writer: StoreWriter,
    judge: ReviewJudge,
    *,
    progress: Progress,
    owner_id: str | None = None,
    due: datetime | None = None,
) -> dict[str, Any]:
    """Review every rejection that stands unreviewed, of all owners or one.

    A review that was `due` at a time is done once, and recorded for each owner who had something to
    review.

    Exact repeats are confirmed first, without a model. The stronger model judges the others:
    *same* confirms, *different* removes the join, with the rank of a review. If that is refused,
    because a text would live twice, the refusal is reported. Once the model is unavailable, no more
    requests are sent: the remaining decisions wait for the next run.
    """
    owners = writer.reader.owners(owner_id)
    result = ReviewResult()
    for number, owner in enumerate(owners):
        progress("reviewing", number / len(owners))
        if due is None or not writer.reader.log.find(event_id(run_id(owner, STEP, due), "0")):
            await _review_owner(writer, judge, owner, due, result)
    return result.document()


async def _review_owner(
    writer: StoreWriter,
    judge: ReviewJudge,
    owner: str,
    due: datetime | None,
    result: ReviewResult,
) -> None:
    before, began = result.figures(), time.perf_counter()
    ledger, policy = fold_owner(writer.reader.log, owner), writer.reader.policy_in_force()
    waiting = list(unreviewed(ledger))
    for repeats in _batches([edge for edge in waiting if edge.face == "repeat"]):
        answers = writer.ask_each([_asked(ConfirmRequest, edge, None, ledger) for edge in repeats])
        result.exact += sum(not isinstance(answer, RefusedError) for answer in answers)
    for rejected in _batches([edge for edge in waiting if edge.decision in REJECTIONS]):
        if result.asked["unavailable"]:
            result.asked["unavailable"] += len(rejected)
            result.why_left[NOT_ASKED] += len(rejected)
        else:
            verdicts = await judge.review([_pair(ledger, edge, policy) for edge in rejected])
            _carry_out(writer, judge, rejected, verdicts, ledger, result)
    ledger.dissolve()
    if due is not None and waiting:
        figures = {name: count - before[name] for name, count in result.figures().items()}
        figures["duration_ms"] = round((time.perf_counter() - began) * 1000, 1)
        writer.ask(
            RunRequest(request_id=str(uuid4()), owner_id=owner, step=STEP, due=due, figures=figures)
        )


def _batches(edges: Sequence[Edge]) -> Iterator[Sequence[Edge]]:
    for start in range(0, len(edges), BATCH_SIZE):
        yield edges[start : start + BATCH_SIZE]


def unreviewed(ledger: Ledger) -> Iterator[Edge]:
    """Standing automatic joins without a review, in the order of their events.

    A reinstated join counts as confirmed: whoever reinstated it outranks a review, or is one.
    Retracted texts are not sent to a model: a join is reviewed only while both of its texts are
    those of living candidates. An exact repeat is confirmed without a model, living or not.
    """
    for edge in ledger.edges.values():
        automatic = edge.standing and edge.rank in ("rule", "judge")
        reviewable = edge.face == "repeat" or (edge.older.text_lives and edge.newer.text_lives)
        stated = statement_on(ledger, edge.newer.id, edge.older.id)
        kept = stated is not None and not stated.separated and RANKS[stated.rank] >= RANKS["review"]
        if automatic and reviewable and not (edge.id in ledger.reviews or kept):
            yield edge


def _carry_out(
    writer: StoreWriter,
    judge: ReviewJudge,
    edges: Sequence[Edge],
    verdicts: Sequence[Verdict],
    ledger: Ledger,
    result: ReviewResult,
) -> None:
    stated: list[tuple[Edge, AnyRequest]] = []
    for edge, verdict in zip(edges, verdicts, strict=True):
        result.asked[verdict.answer] += 1
        if verdict.answer in FAILED:
            result.why_left[verdict.reasoning or verdict.answer] += 1
        if verdict.answer == "same":
            stated.append((edge, signed(_asked(ConfirmRequest, edge, verdict, ledger), judge)))
        elif verdict.answer == "different" and not _refused_again(ledger, edge, verdict, result):
            stated.append((edge, signed(_asked(UnmergeRequest, edge, verdict, ledger), judge)))
    answers = writer.ask_each([request for _, request in stated])
    for (edge, request), answer in zip(stated, answers, strict=True):
        if isinstance(answer, RefusedError):
            _add_refusal(edge, answer.reason, answer.detail, result)
        elif request.request == "confirm":
            result.confirmed += 1
        else:
            done = {"candidate_id": edge.newer.id, "reasoning": request.because}
            result.reversed.append(_about(edge) | done)


def _refused_again(ledger: Ledger, edge: Edge, verdict: Verdict, result: ReviewResult) -> bool:
    """Whether a reversal would be refused again; if so, it is reported without a request.

    A verdict that cost something is sent anyway, so that the refusal records its cost.
    """
    if verdict.calls:
        return False
    command = Unmerge(
        command_id=edge.id, owner_id=ledger.owner_id, decision_id=edge.id, rank="review"
    )
    found = unmerge(command, ledger, ledger.at(edge.decided_at))
    if isinstance(found, Refusal):
        _add_refusal(edge, found.reason, found.detail, result)
    return isinstance(found, Refusal)


def _add_refusal(edge: Edge, reason: str, detail: str, result: ReviewResult) -> None:
    result.refused.append({**_about(edge), "reason": reason, "detail": detail})


def _about(edge: Edge) -> dict[str, Any]:
    return {"decision_id": edge.id, "decision": edge.decision, "similarity": edge.similarity}


def _asked(
    kind: type[ConfirmRequest | UnmergeRequest],
    edge: Edge,
    verdict: Verdict | None,
    ledger: Ledger,
) -> ConfirmRequest | UnmergeRequest:
    """The number of the owner's events makes the id of a repeated review the same."""
    return kind(
        request_id=event_id(edge.id, f"review:{ledger.seen}"),
        decision_id=edge.id,
        rank="review",
        because=verdict.reasoning if verdict else "the same text",
        verdicts=(verdict,) if verdict else None,
    )


def _pair(ledger: Ledger, edge: Edge, policy: Policy) -> JudgedPair:
    """The pair in order of arrival: the later text is the one that was left out."""
    older, newer = (
        Side(entry.id, entry.text, moment(entry), is_local(ledger, entry, policy))
        for entry in (edge.older, edge.newer)
    )
    return JudgedPair(older, newer)
