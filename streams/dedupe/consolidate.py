"""Plans which memories of a session to join at its end, and with which faces.

They are those that share enough words (docs/designs/layered.md). No judge is asked, so the
same log gives the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from palimpsest.contracts.commands import Combine
from palimpsest.contracts.events import Figures
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Consolidate, Policy, Tokenizer
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.worth import recorded_worth, uses
from palimpsest.streams.dedupe.alike import SimilarSets
from palimpsest.streams.dedupe.run import spoke_at
from palimpsest.streams.guard import tokens
from palimpsest.streams.search.content import content_tokens
from palimpsest.streams.search.morphemes import morphemes

CHECK: Final = "consolidate"
"""The name of the check in the evidence of its joins."""
TOKENS: Final[dict[Tokenizer, Callable[[str], frozenset[str]]]] = {
    "words": tokens,
    "content": content_tokens,
    "morphemes": lambda text: frozenset(morphemes(text)),
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that become one: the speaker, and the others by arrival, with their scores.

    Each memory is represented by the candidate that speaks for it. `total` is the sum of the scores
    of all pairs.
    """

    speaker: Entry
    others: tuple[tuple[Entry, float], ...]
    total: float

    @property
    def pairs(self) -> int:
        """The number of pairs among them."""
        return len(self.others) * (len(self.others) + 1) // 2


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The clusters of a session, and the number of its memories that were eligible."""

    clusters: tuple[Cluster, ...]
    eligible: int


def plan(ledger: Ledger, policy: Policy, rule: Consolidate, session_id: str) -> RunPlan:
    """The plan for a session's memories at its end, namespace by namespace."""
    found: list[Cluster] = []
    count = 0
    for scope in ledger.scopes.values():
        stated = dict.fromkeys(entry.memory for entry in scope.sessions.get(session_id, ()))
        memories = [memory for memory in stated if _eligible(memory, policy, rule, session_id)]
        memories.sort(key=lambda memory: memory.members[0].place)
        count += len(memories)
        if len(memories) >= rule.fewest:
            found += _clusters(ledger, policy, rule, memories)
    return RunPlan(tuple(found), count)


def joins(ledger: Ledger, policy: Policy, planned: RunPlan, run: str) -> Iterator[Combine]:
    """The commands of a plan, each to be executed before the next; `run` is their cause.

    The representative's face wins, whether it came first or last. A join that has become impossible
    when its turn comes is left out.
    """
    for cluster in planned.clusters:
        for other, score in cluster.others:
            older, newer = sorted((cluster.speaker, other), key=_place)
            if hindrance_of(ledger, older, newer) is not None:
                continue
            takes = newer is cluster.speaker
            seen = Neighbour(candidate_id=older.id, jaccard=score)
            yield Combine(
                command_id=event_id(run, f"{older.id}:{newer.id}"),
                owner_id=ledger.owner_id,
                a=older.id,
                b=newer.id,
                decision="superseded",
                face="take" if takes else "keep",
                evidence=Evidence(policy=policy.hash, check=CHECK, neighbours=(seen,)),
                outright=takes,
                cause=run,
            )


def figures(planned: RunPlan, superseded: int) -> Figures:
    """The figures of a session's end; `superseded` is the number of memories that lost their face.

    `avg_similarity` is the mean Jaccard of all pairs within clusters.
    """
    pairs = sum(cluster.pairs for cluster in planned.clusters)
    total = sum(cluster.total for cluster in planned.clusters)
    return {
        "merged_groups": len(planned.clusters),
        "superseded_count": superseded,
        "compression_ratio": round(superseded / planned.eligible, 4) if planned.eligible else 0.0,
        "avg_similarity": round(total / pairs, 4) if pairs else 0.0,
    }


def _eligible(memory: Memory, policy: Policy, rule: Consolidate, session_id: str) -> bool:
    """Whether a memory may be joined at the end of a session, by its face."""
    face = memory.face.speaker.fields
    if not memory.current or face.session_id != session_id:
        return False
    if face.category in (*rule.protected_categories, *policy.protected_categories):
        return False
    if face.kind in rule.protected_kinds:
        return False
    confidence = recorded_worth(memory, "confidence", policy)
    below = rule.confidence_below
    return below is None or confidence is None or confidence < below


def _clusters(
    ledger: Ledger, policy: Policy, rule: Consolidate, memories: list[Memory]
) -> Iterator[Cluster]:
    def category(memory: Memory) -> str:
        return memory.face.speaker.fields.category or ""

    for _, some in groupby(sorted(memories, key=category), key=category):
        group = list(some)  # in the order of their first members, because the sort is stable
        alike = SimilarSets([TOKENS[rule.tokenizer](memory.text) for memory in group], rule.above)
        _part_hindered(ledger, group, alike)
        for numbers in alike.clusters():
            yield _cluster(policy, group, numbers, alike)


def _part_hindered(ledger: Ledger, group: Sequence[Memory], alike: SimilarSets) -> None:
    """Keep memories apart if their join is prevented, for example by a separation."""
    for number, memory in enumerate(group):
        if _nothing_stands_between(ledger, memory):
            continue
        for other in alike.pairs_of(number):
            pair = sorted((_speaker(memory), _speaker(group[other])), key=_place)
            if hindrance_of(ledger, *pair) is not None:
                alike.part(number, other)


def _cluster(
    policy: Policy, memories: list[Memory], numbers: list[int], alike: SimilarSets
) -> Cluster:
    """A cluster: a chosen face wins; else the most confident, the most used, then the newest."""

    def rank(number: int) -> tuple[bool, float, int, object]:
        memory = memories[number]
        confidence = recorded_worth(memory, "confidence", policy) or 0.0
        return memory.face.chosen, confidence, uses(memory), spoke_at(_speaker(memory))

    best = max(numbers, key=rank)
    others = [(_speaker(memories[n]), alike.score(n, best)) for n in numbers if n != best]
    return Cluster(_speaker(memories[best]), tuple(others), alike.total(numbers))


def _nothing_stands_between(ledger: Ledger, memory: Memory) -> bool:
    """Whether no statement concerns its members, and none of them has an open question.

    If so, its pairs need no lookup; a thousand such memories have half a million pairs.
    """
    return not any(entry.pending or entry.id in ledger.statements for entry in memory.members)


def _speaker(memory: Memory) -> Entry:
    return memory.face.speaker


def _place(entry: Entry) -> int:
    return entry.place
