"""The rule `tokens`: the nightly janitor of the design `store-time`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from msgspec import structs

from palimpsest.contracts.events import BatchJoin
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.policy import Policy, TokenDedupe
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.dedupe.near import cosine_of, near_pairs, settled_by_zone
from palimpsest.streams.dedupe.run import Near, Proposal, Run, joined, pairing, parted, spoken
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.pairs import JudgedPair

JOINS: dict[Answer, BatchJoin] = {"same": "llm_reject", "update": "superseded"}
"""The decisions that follow from the judge's answers; this rule composes no text."""


async def by_tokens(
    ledger: Ledger, policy: Policy, rule: TokenDedupe, judge: PairJudge, run: Run
) -> AsyncIterator[list[Proposal]]:
    """The proposals for one owner's memories: first the certain pairs, then request by request.

    The zones of the policy's cosine check define which pairs are certain and which go to the judge.
    A merged memory takes no further part in the run. Once the judge is unavailable, for any owner,
    no more requests are sent: the remaining pairs wait for the next run.
    """
    near = near_pairs(ledger, policy, rule, run)
    certain, gray = _split(near, policy)
    yield list(_joined(certain, policy, run))
    if run.unanswered > 0 or not policy.judge.enabled:
        run.left += len(gray)
        return
    while gray := [pair for pair in gray if not _merged(pair, run)]:
        asked, gray = gray[: policy.judge.most], gray[policy.judge.most :]
        run.progress("asking the judge", 1 - len(gray) / len(near))
        verdicts = await judge.compare([_pair(ledger, pair, policy) for pair in asked])
        yield list(_settled(asked, verdicts, policy, run))
        if run.unanswered:
            run.left += len(gray)
            return


def _split(near: list[Near], policy: Policy) -> tuple[list[tuple[Near, BatchJoin]], list[Near]]:
    """The pairs that need no judge, each with its decision, and those that do."""
    certain: list[tuple[Near, BatchJoin]] = []
    gray: list[Near] = []
    for pair in near:
        check = cosine_of(policy)
        assert check is not None, "a pair is near by the zones of a check"
        decision = settled_by_zone(pair, check)
        if decision is None:
            gray.append(pair)
        else:
            certain.append((pair, decision))
    return certain, gray


def _joined(certain: list[tuple[Near, BatchJoin]], policy: Policy, run: Run) -> Iterator[Proposal]:
    for near, decision in certain:
        if not _merged(near, run):
            yield _merge(near, decision, policy, run)


def _settled(
    asked: list[Near], verdicts: list[Verdict], policy: Policy, run: Run
) -> Iterator[Proposal]:
    """The proposals that follow from the answers; no join of memories merged in the meantime."""
    for near, answered in zip(asked, verdicts, strict=True):
        verdict = structs.replace(answered, neighbour_id=near.older.id)
        run.count(verdict)
        decision = JOINS.get(verdict.answer)
        if verdict.answer == "different":
            yield parted(run.request_id(near), near, verdict)
        elif decision is not None and not _merged(near, run):
            yield _merge(near, decision, policy, run, verdict)


def _merge(
    near: Near, decision: BatchJoin, policy: Policy, run: Run, verdict: Verdict | None = None
) -> Proposal:
    run.merged.update(memory.id for memory in near.memories)
    run.joins.append(pairing(near, decision, verdict))
    face: Literal["keep", "take"] = near.replacing if decision == "superseded" else "keep"
    rank: Literal["rule", "judge"] = "judge" if verdict else "rule"
    return joined(run.request_id(near), near, decision, policy.hash, verdict, face, rank)


def _merged(near: Near, run: Run) -> bool:
    return any(memory.id in run.merged for memory in near.memories)


def _pair(ledger: Ledger, near: Near, policy: Policy) -> JudgedPair:
    first, second = near.in_time
    return JudgedPair(spoken(ledger, first, policy), spoken(ledger, second, policy))
