"""Reviews: exact repeats without a model, other rejections by a stronger one (docs/design.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from palimpsest.contracts.commands import Unmerge
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import RANKS
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import AnyRequest, ConfirmRequest, UnmergeRequest
from palimpsest.desk import FrontDesk
from palimpsest.judging import ReviewJudge
from palimpsest.streams.core.expand import EXACT
from palimpsest.streams.core.ledger import Edge, Ledger
from palimpsest.streams.core.moment import moment
from palimpsest.streams.core.operate import unmerge
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.separations import said_of
from palimpsest.streams.dedupe import Progress
from palimpsest.streams.judge.pairs import Pair, Side
from palimpsest.streams.write.owners import fold_owner

REJECTIONS = frozenset(
    {"token_reject", "session_reject", "auto_reject", "llm_reject", "fallback_reject"}
)
"""Decisions by which a text was taken for a duplicate: what a review looks at."""
AT_ONCE = 500
"""How many reviews are handed in together."""


@dataclass(slots=True)
class Reviewed:
    """What a review did: counts, the decisions reversed, and what was refused, with the reason."""

    exact: int = 0
    confirmed: int = 0
    reversed: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    def told(self) -> dict[str, Any]:
        """As the command answers it; `left` are those that nobody could judge."""
        return {
            "exact": self.exact,
            "confirmed": self.confirmed,
            "reversed": self.reversed,
            "refused": self.refused,
            "asked": dict(self.asked),
            "left": self.asked["unavailable"] + self.asked["unusable"],
        }


async def review(
    desk: FrontDesk, judge: ReviewJudge, *, progress: Progress, owner_id: str | None = None
) -> dict[str, Any]:
    """Review every rejection, or one owner's, that stands unreviewed.

    Exact repeats are confirmed first, without a model. The stronger model is asked about the rest:
    *same* confirms, *different* takes the join out, with the rank of a review. Where that is
    refused, because the text would live twice, it is told. Once nobody answers, nobody is asked any
    more: what is left waits for the next run.
    """
    owners = desk.owners(owner_id)
    done = Reviewed()
    for number, owner in enumerate(owners):
        progress("reviewing", number / len(owners))
        ledger = fold_owner(desk.log, owner)
        waiting = list(unreviewed(ledger))
        _confirm_exact(
            desk, [edge for edge in waiting if edge.decision in EXACT], ledger.seen, done
        )
        rejected = iter([edge for edge in waiting if edge.decision in REJECTIONS])
        while part := list(islice(rejected, AT_ONCE)):
            if done.asked["unavailable"]:
                done.asked["unavailable"] += len(part)
                continue
            verdicts = await judge.review([_pair(edge) for edge in part])
            _carry_out(desk, part, verdicts, ledger, done)
        ledger.dissolve()
    return done.told()


def unreviewed(ledger: Ledger) -> Iterator[Edge]:
    """Standing joins that no person made and nobody has reviewed, in the order of their events.

    Who reinstated a join has said that it is right, and a review of lower rank would be refused.
    """
    for edge in ledger.edges.values():
        automatic = edge.standing and edge.rank in ("rule", "judge")
        if automatic and edge.id not in ledger.reviews and not _is_reinstated(ledger, edge):
            yield edge


def _is_reinstated(ledger: Ledger, edge: Edge) -> bool:
    said = said_of(ledger, edge.newer.id, edge.older.id)
    return said is not None and not said.separated and RANKS[said.rank] >= RANKS["review"]


def _confirm_exact(desk: FrontDesk, edges: Sequence[Edge], seen: int, done: Reviewed) -> None:
    requests = [_confirm(edge, None, seen) for edge in edges]
    for start in range(0, len(requests), AT_ONCE):
        answers = desk.ask_each(requests[start : start + AT_ONCE])
        done.exact += sum(not isinstance(answer, RefusedError) for answer in answers)


def _carry_out(
    desk: FrontDesk,
    edges: Sequence[Edge],
    verdicts: Sequence[Verdict],
    ledger: Ledger,
    done: Reviewed,
) -> None:
    said: list[tuple[Edge, AnyRequest]] = []
    for edge, verdict in zip(edges, verdicts, strict=True):
        done.asked[verdict.answer] += 1
        if verdict.answer == "same":
            said.append((edge, _confirm(edge, verdict, ledger.seen)))
        elif verdict.answer == "different" and not _refused_again(ledger, edge, verdict, done):
            said.append((edge, _reverse(edge, verdict, ledger.seen)))
    answers = desk.ask_each([request for _, request in said])
    for (edge, request), answer in zip(said, answers, strict=True):
        _note(edge, request, answer, done)


def _refused_again(ledger: Ledger, edge: Edge, verdict: Verdict, done: Reviewed) -> bool:
    """Whether a reversal is told as refused without being asked for, as it would only be again.

    A verdict that cost something is brought all the same: the refusal records it.
    """
    if verdict.calls:
        return False
    command = Unmerge(
        command_id=edge.id, owner_id=ledger.owner_id, decision_id=edge.id, rank="review"
    )
    found = unmerge(command, ledger, ledger.at(edge.decided_at))
    if isinstance(found, Refusal):
        _tell_refused(edge, found.reason, found.detail, done)
    return isinstance(found, Refusal)


def _tell_refused(edge: Edge, reason: str, detail: str, done: Reviewed) -> None:
    done.refused.append({**_about(edge), "reason": reason, "detail": detail})


def _about(edge: Edge) -> dict[str, Any]:
    return {"decision_id": edge.id, "decision": edge.decision, "similarity": edge.similarity}


def _note(edge: Edge, request: AnyRequest, answer: Any, done: Reviewed) -> None:
    if isinstance(answer, RefusedError):
        _tell_refused(edge, answer.reason, answer.detail, done)
    elif request.request == "confirm":
        done.confirmed += 1
    else:
        reasoning = request.because
        done.reversed.append(
            {**_about(edge), "candidate_id": edge.newer.id, "reasoning": reasoning}
        )


def _confirm(edge: Edge, verdict: Verdict | None, seen: int) -> ConfirmRequest:
    """`seen` is how many events the owner has: the same review again asks under the same id."""
    return ConfirmRequest(
        request_id=event_id(edge.id, f"review:{seen}"),
        decision_id=edge.id,
        rank="review",
        because=verdict.reasoning if verdict else "the same text",
        verdicts=(verdict,) if verdict else None,
    )


def _reverse(edge: Edge, verdict: Verdict, seen: int) -> UnmergeRequest:
    return UnmergeRequest(
        request_id=event_id(edge.id, f"review:{seen}"),
        decision_id=edge.id,
        rank="review",
        because=verdict.reasoning,
        verdicts=(verdict,),
    )


def _pair(edge: Edge) -> Pair:
    """By arrival, whatever happened first: the text that came in later is the one left out."""
    older, newer = (Side(entry.id, entry.text, moment(entry)) for entry in (edge.older, edge.newer))
    return Pair(older, newer)
