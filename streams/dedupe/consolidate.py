"""The end of a session: memories that share most of their words become one (docs/designs/layered).

A plan alone: which memories, who speaks for them, how alike they are. It asks nobody, so whoever
folds the same log makes the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Final

from palimpsest.contracts.events import Figures
from palimpsest.contracts.policy import Consolidate, Policy, Tokenizer
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.worth import recorded_worth, uses
from palimpsest.streams.dedupe.run import spoke_at
from palimpsest.streams.guard import tokens
from palimpsest.streams.search import TokenIndex
from palimpsest.streams.search.content import content_tokens

CHECK: Final = "consolidate"
"""The name of the check in the evidence of its joins."""
TOKENS: Final[dict[Tokenizer, Callable[[str], frozenset[str]]]] = {
    "words": tokens,
    "content": content_tokens,
}
Pairs = dict[tuple[int, int], float]
"""Jaccard scores over the threshold, by the numbers of two memories, the earlier first."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that become one: who speaks, the others by arrival, and every pair's score.

    All are candidates that speak for their memory; `scores` are by the ids of two of them.
    """

    speaker: Entry
    others: tuple[Entry, ...]
    scores: dict[frozenset[str], float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The clusters of a session, and how many of its memories might have been in one."""

    clusters: tuple[Cluster, ...]
    eligible: int


def plan(ledger: Ledger, policy: Policy, rule: Consolidate, session_id: str) -> Plan:
    """What the end of a session makes of its memories, namespace by namespace."""
    found: list[Cluster] = []
    count = 0
    for scope in ledger.scopes.values():
        said = dict.fromkeys(entry.memory for entry in scope.sessions.get(session_id, ()))
        memories = [one for one in said if _eligible(one, policy, rule, session_id)]
        memories.sort(key=lambda memory: memory.members[0].place)
        count += len(memories)
        if len(memories) >= rule.fewest:
            found += _clusters(ledger, policy, rule, memories)
    return Plan(tuple(found), count)


def figures(planned: Plan, superseded: int) -> Figures:
    """The figures of the document, of so many memories that do not speak any more.

    `avg_similarity` is the mean Jaccard of all pairs within clusters.
    """
    scores = [score for cluster in planned.clusters for score in cluster.scores.values()]
    return {
        "merged_groups": len(planned.clusters),
        "superseded_count": superseded,
        "compression_ratio": round(superseded / planned.eligible, 4) if planned.eligible else 0.0,
        "avg_similarity": round(sum(scores) / len(scores), 4) if scores else 0.0,
    }


def _eligible(memory: Memory, policy: Policy, rule: Consolidate, session_id: str) -> bool:
    """Whether a memory may be joined at the end of a session; its face says what it is."""
    face = memory.face.speaker.fields
    if not memory.living or face.session_id != session_id:
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
        group = list(some)  # in the order of their first members: the sort is stable
        pairs = _pairs(group, rule.above, rule.tokenizer)
        for numbers in _greedy(ledger, group, pairs):
            yield _cluster(policy, group, numbers, pairs)


def _pairs(memories: list[Memory], above: float, tokenizer: Tokenizer) -> Pairs:
    index, found = TokenIndex(), Pairs()
    sets = [TOKENS[tokenizer](memory.face.text) for memory in memories]
    for number, words in enumerate(sets):
        for hit in index.above(words, above, limit=len(sets)):
            if hit.score > above:
                found[hit.row, number] = hit.score
        index.append(words)
    return found


def _greedy(ledger: Ledger, memories: list[Memory], pairs: Pairs) -> Iterator[list[int]]:
    """From the earliest on: each takes in all later ones that are alike every one it has by then.

    A memory is in one cluster. Two that something stands between, such as a separation, are not
    alike, whatever they share.
    """
    alike: dict[int, list[int]] = {}
    near: set[tuple[int, int]] = set()
    for a, b in sorted(pairs):
        older, newer = sorted((_speaker(memories[a]), _speaker(memories[b])), key=_place)
        if hindrance_of(ledger, older, newer) is None:
            alike.setdefault(a, []).append(b)
            near.add((a, b))
    taken: set[int] = set()
    for first in range(len(memories)):
        cluster = [first]
        for other in alike.get(first, ()) if first not in taken else ():
            if other not in taken and all((one, other) in near for one in cluster):
                cluster.append(other)
        if len(cluster) > 1:
            taken.update(cluster)
            yield cluster


def _cluster(policy: Policy, memories: list[Memory], numbers: list[int], pairs: Pairs) -> Cluster:
    """The most confident speaks, then the most used, then the newest; before all, a person's."""

    def rank(memory: Memory) -> tuple[bool, float, int, object]:
        confidence = recorded_worth(memory, "confidence", policy) or 0.0
        return memory.face.chosen, confidence, uses(memory), spoke_at(_speaker(memory))

    best = max((memories[number] for number in numbers), key=rank)
    speakers = {number: _speaker(memories[number]) for number in numbers}
    scores = {
        frozenset({speakers[a].id, speakers[b].id}): pairs[a, b]
        for a, b in combinations(numbers, 2)
    }
    others = (entry for entry in speakers.values() if entry.memory is not best)
    return Cluster(_speaker(best), tuple(others), scores)


def _speaker(memory: Memory) -> Entry:
    return memory.face.speaker


def _place(entry: Entry) -> int:
    return entry.place
