"""The rule `clusters`: the batch mode of the design `replace-or-merge`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from itertools import product
from typing import Literal

import numpy as np
from msgspec import structs

from palimpsest.contracts.events import BatchJoin, Composition
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.moment import by_moment
from palimpsest.streams.core.settle import usable
from palimpsest.streams.core.text import content_of, identity_of
from palimpsest.streams.dedupe.near import comparable, compared, cosine_of, settled_by_zone
from palimpsest.streams.dedupe.run import Near, Proposal, Run, joined, pairing, spoke_at, spoken
from palimpsest.streams.guard import Tables, guard_hash, tables_of
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.pairs import CompositionAnswer, Side
from palimpsest.streams.search import pairs_above
from palimpsest.streams.search.scope_index import vector_of

_log = logging.getLogger(__name__)

Cluster = list[Near]
"""The pairs that connect a cluster, one fewer than it has memories; the newest last."""
FALLBACKS: dict[str, BatchJoin] = {"supersede": "fallback_supersede", "reject": "fallback_reject"}


async def by_clusters(
    ledger: Ledger, policy: Policy, judge: PairJudge, run: Run
) -> AsyncIterator[list[Proposal]]:
    """The proposals for one owner's memories, cluster by cluster, the largest first.

    A cluster whose pairs are all certain needs no judge. If the judge is unavailable, the cluster
    gets the policy's fallback, except for pairs that a cue or the guard keeps apart, and the
    remaining clusters that need the judge wait for the next run. An empty or unusable text merges
    nothing.
    """
    check = cosine_of(policy)
    found = clusters(ledger, policy, check, run) if check is not None else []
    for number, cluster in enumerate(found):
        run.progress("composing", number / len(found))
        if check is None or all(settled_by_zone(near, check) for near in cluster):
            yield _joins(cluster, "superseded", policy, run)
        elif run.unanswered or not policy.judge.enabled:
            run.left += 1
        else:
            composed = await judge.compose(sides(ledger, cluster, policy))
            yield _composed(ledger, cluster, composed, policy, run)


# -- clusters ------------------------------------------------------------------------------------


def clusters(ledger: Ledger, policy: Policy, check: CosineCheck, run: Run) -> list[Cluster]:
    """Clusters by union-find over near pairs, nearest first: A near B near C is one cluster.

    Two clusters are not united if anything prevents a join of any two of their memories.
    """
    found: list[Cluster] = []
    tables = tables_of(policy.languages)
    for namespace in ledger.scopes:
        for memories in comparable(ledger, policy, namespace, check.min_characters, run):
            near = _near(memories, check.zones_of(namespace), run, ledger.names, tables)
            found += _united(ledger, near)
    return sorted(found, key=lambda cluster: (-len(cluster), cluster[-1].newer.place))


def _near(
    memories: list[Memory],
    zones: tuple[Zone, ...],
    run: Run,
    names: tuple[str, ...],
    tables: Tables,
) -> list[Near]:
    """Exactly the pairs of a scope that reach a zone, nearest first; ties go to the earlier."""
    speakers = sorted((m.face.speaker for m in memories), key=lambda entry: entry.place)
    vectors = np.stack([vector_of(f.vector) for e in speakers if (f := e.memory.face).vector])
    run.pairs += len(memories) * (len(memories) - 1) // 2
    guard = guard_hash(tables, named=bool(names))
    return [
        Near(a, b, compared(a.memory.face, b.memory.face, score, floor, names, tables), guard)
        for score, older, newer in pairs_above(vectors, zones[-1].at_least)
        for a, b, floor in [(speakers[older], speakers[newer], _zone(zones, score).at_least)]
    ]


def _zone(zones: tuple[Zone, ...], score: float) -> Zone:
    return next(zone for zone in zones if score >= zone.at_least)


def _united(ledger: Ledger, pairs: list[Near]) -> Iterator[Cluster]:
    groups: dict[str, tuple[list[Entry], Cluster]] = {}
    for near in pairs:
        ours = groups.setdefault(near.older.id, ([near.older], []))
        theirs = groups.setdefault(near.newer.id, ([near.newer], []))
        if ours is theirs or not _may_unite(ledger, ours[0], theirs[0]):
            continue
        whole = ([*ours[0], *theirs[0]], [*ours[1], *theirs[1], near])
        groups.update((entry.id, whole) for entry in whole[0])
    seen: set[int] = set()
    for _, cluster in groups.values():
        first = cluster[0].older.place if cluster else -1
        if cluster and first not in seen:
            seen.add(first)
            yield sorted(cluster, key=lambda near: (near.newer.place, near.older.place))


def _may_unite(ledger: Ledger, ours: list[Entry], theirs: list[Entry]) -> bool:
    for a, b in product(ours, theirs):
        older, newer = sorted((a, b), key=lambda entry: entry.place)
        if hindrance_of(ledger, older, newer) is not None:
            return False
    return True


def members(cluster: Cluster) -> list[Entry]:
    """The candidates that speak for a cluster's memories, by the moments of their faces."""
    entries = {entry.id: entry for near in cluster for entry in (near.older, near.newer)}
    return sorted(entries.values(), key=spoke_at)


def sides(ledger: Ledger, cluster: Cluster, policy: Policy) -> list[Side]:
    """The texts of a cluster in the form for the judge, oldest first."""
    return [spoken(ledger, entry, policy) for entry in members(cluster)]


# -- proposals ----------------------------------------------------------------------------------


def _composed(
    ledger: Ledger, cluster: Cluster, made: CompositionAnswer, policy: Policy, run: Run
) -> list[Proposal]:
    verdict = made.verdict
    run.count(verdict)
    if verdict.answer == "unavailable":
        decision = FALLBACKS.get(policy.judge.unavailable)
        alike = [near for near in cluster if not _kept_apart(near, policy)]
        if decision is None or not alike:
            return []
        if len(alike) == len(cluster):
            run.left -= 1  # the cluster is joined, so it does not wait
        return _joins(alike, decision, policy, run, verdict)
    found = {source for entry in members(cluster) for source in entry.memory.face.sources}
    sources = tuple(sorted(found, key=lambda source: by_moment(ledger.entries[source])))
    if made.text is None or not _can_be_kept(ledger, made.text, sources, cluster, run):
        ids = ", ".join(entry.id for entry in members(cluster))
        _log.warning("DEDUP_FAIL: nothing usable was composed, all stay: %s", ids)
        return []
    proposals = _joins(cluster, "llm_merge", policy, run, verdict)
    run.joins[-1]["composed"] = made.text
    # On each join, so that the rest is recomposed if some are reversed, and no text is replaced.
    text = {"face": "text", "composed": made.text, "sources": sources}
    return [join.model_copy(update=text) for join in proposals]


def _kept_apart(near: Near, policy: Policy) -> bool:
    """Whether no fallback joins a pair: it shows a cue, or other words to a policy with a guard."""
    return bool(near.seen.cues) or (policy.asks_guard and not near.seen.near_identical)


def _can_be_kept(
    ledger: Ledger, text: str, sources: tuple[str, ...], cluster: Cluster, run: Run
) -> bool:
    """Whether a composed text can be recorded; not if this run has composed the same one before."""
    content, namespace = content_of(text), cluster[0].older.fields.namespace
    composed = ledger.owner_id, namespace, identity_of(content)
    composition = Composition(content=content, sources=sources)
    if composed in run.composed or not usable(ledger, composition, namespace):
        return False
    run.composed.add(composed)
    return True


def _joins(
    cluster: Cluster, decision: BatchJoin, policy: Policy, run: Run, verdict: Verdict | None = None
) -> list[Proposal]:
    """A request for each pair that connects the cluster.

    Unless a fallback rejects, the newest text is the face in the end, or the composed one.
    The last request carries the verdict on all pairs, and its cost.
    """
    proposals: list[Proposal] = []
    for near, winner in zip(cluster, _winners(cluster), strict=True):
        face = "keep" if decision == "fallback_reject" else winner
        given = verdict if near is cluster[-1] else None
        run.joins.append(pairing(near, decision, given))
        request_id = run.request_id(near)
        about = given and structs.replace(given, neighbour_id=near.older.id)
        rank: Literal["rule", "judge"] = "rule" if decision == "superseded" else "judge"
        proposals.append(joined(request_id, near, decision, policy.hash, about, face, rank))
    return proposals


def _winners(cluster: Cluster) -> Iterator[Literal["keep", "take"]]:
    """Which part's face wins each join, in order: the face that happened later."""
    latest = {entry.id: entry for entry in members(cluster)}
    for near in cluster:
        ours, theirs = latest[near.older.id], latest[near.newer.id]
        winner = max(ours, theirs, key=spoke_at)
        yield "take" if winner is theirs else "keep"
        latest.update(
            {candidate_id: winner for candidate_id, of in latest.items() if of in (ours, theirs)}
        )
