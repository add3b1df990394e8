"""Near pairs of an owner's current memories: those that share key tokens, by their cosine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.events import BatchJoin
from palimpsest.contracts.evidence import BLIND, Neighbour
from palimpsest.contracts.policy import CosineCheck, Policy, TokenDedupe
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.faces import Face
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.neighbour_lookup import reading_of, with_truncated
from palimpsest.streams.dedupe.key_tokens import Pairs, key_tokens, sharing_pairs
from palimpsest.streams.dedupe.run import Near, Run
from palimpsest.streams.guard import Tables, compare, guard_hash, tables_of
from palimpsest.streams.search.exact import cosines, squared_norms
from palimpsest.streams.search.hits import DECIMALS
from palimpsest.streams.search.scope_index import coverage, vector_of

CHUNK = 4096
"""Number of pairs whose cosines are computed at once; their vectors take 25 MB at 384
dimensions."""


def cosine_of(policy: Policy) -> CosineCheck | None:
    """The policy's first cosine check, whose zones decide on a score; None if it has none."""
    return next((check for check in policy.checks if isinstance(check, CosineCheck)), None)


def settled_by_zone(near: Near, check: CosineCheck) -> BatchJoin | None:
    """The join that a pair's zone makes by itself; None if the judge has to be asked.

    The judge is asked about what the zone's guard stops, and what the model cannot tell apart.
    """
    zones = check.zones_of(near.older.fields.namespace)
    zone = next(zone for zone in zones if near.score >= zone.at_least)
    stopped = zone.guard and not (near.seen.near_identical and not near.seen.cues)
    if zone.action == "pending" or stopped or not BLIND.isdisjoint(near.seen.cues):
        return None
    return zone.action


def near_pairs(ledger: Ledger, policy: Policy, rule: TokenDedupe, run: Run) -> list[Near]:
    """An owner's pairs that reach the lowest zone and may be joined, nearest first.

    Ties go to the earlier memories. Vectors come from the log; nothing is embedded.
    """
    check = cosine_of(policy)
    if check is None:
        return []
    found: list[Near] = []
    for namespace in ledger.scopes:
        floor = check.zones_of(namespace)[-1].at_least
        for memories in comparable(ledger, policy, namespace, check.min_characters, run):
            found += _in_scope(ledger, policy, memories, floor, rule, run)
    return sorted(found, key=lambda n: (-n.score, n.older.place, n.newer.place))


def comparable(
    ledger: Ledger, policy: Policy, namespace: str, fewest: int, run: Run
) -> list[list[Memory]]:
    """The current memories of a scope with a vector, except those that only a person may join.

    Only vectors of one length can be compared, so the memories are grouped by it; a group has at
    least two. The run counts all current memories, including short ones, which are not compared.
    """
    there = [m for m in ledger.memories() if m.namespace == namespace and m.current]
    run.memories += len(there)
    run.all_pairs += len(there) * (len(there) - 1) // 2
    groups: dict[int, list[Memory]] = {}
    for memory in there:
        vector, protected = memory.face.vector, policy.protected_categories
        if vector is None or len(memory.text) < fewest:
            continue
        if not any(entry.fields.category in protected for entry in memory.members):
            groups.setdefault(vector.dimension, []).append(memory)
    return [group for group in groups.values() if len(group) > 1]


def _in_scope(
    ledger: Ledger,
    policy: Policy,
    memories: list[Memory],
    floor: float,
    rule: TokenDedupe,
    run: Run,
) -> Iterator[Near]:
    tables = tables_of(policy.languages)
    pairs = sharing_pairs([key_tokens(memory.text) for memory in memories], rule.candidates)
    run.pairs += len(pairs)
    scores = scored(memories, pairs)
    for at in np.flatnonzero(scores >= floor):
        a, b = (memories[place].face.speaker for place in pairs[at])
        older, newer = sorted((a, b), key=lambda entry: entry.place)
        if hindrance_of(ledger, older, newer) is None:
            yield Near(
                older,
                newer,
                compared(
                    older.memory.face,
                    newer.memory.face,
                    float(scores[at]),
                    floor,
                    ledger.names,
                    tables,
                ),
                guard_hash(tables, named=bool(ledger.names)),
            )


def compared(
    older: Face,
    newer: Face,
    score: float,
    at_least: float,
    names: tuple[str, ...],
    tables: Tables,
) -> Neighbour:
    """The pair as evidence, with the guard's cues.

    `names` are those of their owner, `tables` those of the policy. The cue `truncated` is set if a
    window of either text has no counterpart in the other with a cosine of `at_least`.
    """
    result = compare(
        reading_of(older.text, older.vector, names, tables),
        reading_of(newer.text, newer.vector, names, tables),
    )
    both = coverage(older.vector, newer.vector)
    return Neighbour(
        candidate_id=older.speaker.id,
        cosine=score,
        near_identical=result.near_identical,
        cues=with_truncated(result.cues, uncovered=both is not None and both < at_least),
        covered=both,
    )


def scored(memories: list[Memory], pairs: Pairs) -> NDArray[np.float64]:
    """The exact cosines of pairs of memories, rounded to four decimals; shape (len(pairs),)."""
    vectors = np.stack([vector_of(m.face.vector) for m in memories if m.face.vector is not None])
    squared = squared_norms(vectors, vectors.astype(np.float64), vectors.shape[1])
    parts: list[NDArray[np.float64]] = [np.empty(0)]
    for start in range(0, len(pairs), CHUNK):
        a, b = pairs[start : start + CHUNK].T
        dots = np.einsum("ij,ij->i", vectors[a].astype(np.float64), vectors[b].astype(np.float64))
        parts.append(cosines(dots, squared[a] * squared[b]))
    exact: NDArray[np.float64] = np.concatenate(parts)
    return exact.round(DECIMALS)
