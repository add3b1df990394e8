"""The rule `pairs` of the design `importance`: joins near pairs, the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec import structs

from palimpsest.contracts.commands import Combine
from palimpsest.contracts.events import BatchJoin, Composition, Content
from palimpsest.contracts.evidence import BLIND, Evidence, Neighbour, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import PairsDedupe, Policy
from palimpsest.contracts.requests import ComposedText
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.concatenate import concatenated, one_after_the_other
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.moment import by_moment
from palimpsest.streams.core.worth import recorded_worth
from palimpsest.streams.dedupe.near import comparable, compared
from palimpsest.streams.dedupe.run import CHECK, Near, Run, ToCompose, spoken
from palimpsest.streams.guard import guard_hash, tables_of
from palimpsest.streams.search import VectorIndex
from palimpsest.streams.search.hits import DECIMALS
from palimpsest.streams.search.scope_index import vector_of


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join of a rule: its face, and the composed text, if any, with the judge's verdict."""

    near: Near
    decision: BatchJoin
    face: Literal["keep", "take", "text"]
    text: str | None = None
    sources: tuple[str, ...] = ()
    verdict: Verdict | None = None


def by_pairs(
    ledger: Ledger,
    policy: Policy,
    rule: PairsDedupe,
    run: Run,
    composed: Sequence[ComposedText] = (),
) -> Iterator[PlannedJoin]:
    """The joins for one owner's memories, to be made one after another.

    The pairs of the most important memories come first. A memory that was absorbed in this run
    takes no further part. A pair that the model cannot tell apart is left out. The guard compares
    the faces from before the run, as the score does: a dry run has no vectors of texts that it
    composes. If a text is not in `composed`, both memories wait for it, and the run lacks it.
    """
    faces = {memory.face.speaker.id: memory.face for memory in ledger.memories()}
    texts = {text.sources: text for text in composed}
    found: list[Near] = []
    for namespace in ledger.scopes:
        for memories in comparable(ledger, policy, namespace, 0, run):
            run.pairs += len(memories) * (len(memories) - 1) // 2
            found += _in_scope(memories, rule)
    for near in _by_importance(found, policy):
        entries = {near.older.id, near.newer.id}
        if entries & run.merged or hindrance_of(ledger, near.older, near.newer) is not None:
            continue
        old, new = faces[near.older.id], faces[near.newer.id]
        tables = tables_of(policy.languages)
        seen = compared(old, new, near.score, rule.above, ledger.names, tables)
        planned = _planned(ledger, policy, rule, Near(near.older, near.newer, seen), texts)
        if isinstance(planned, PlannedJoin):
            run.merged.add(_absorbed(planned).id)
            yield planned
            continue
        run.left += 1
        if planned is not None:
            run.merged |= entries
            run.lacking.append(planned)


def combine_command(
    ledger: Ledger,
    policy: Policy,
    planned: PlannedJoin,
    run: str,
    content: Callable[[str], Content],
) -> Combine:
    """The command of a planned join; `content` gives its text a hash and a vector."""
    near, verdict, text = planned.near, planned.verdict, None
    if planned.text is not None:
        text = Composition(content=content(planned.text), sources=planned.sources)
    return Combine(
        command_id=event_id(run, f"{near.older.id}:{near.newer.id}"),
        owner_id=ledger.owner_id,
        a=near.older.id,
        b=near.newer.id,
        decision=planned.decision,
        face=planned.face,
        composition=text,
        evidence=Evidence(
            policy=policy.hash,
            check=CHECK,
            neighbours=(near.seen,),
            asked=(near.older.id,) if verdict else (),
            verdicts=(structs.replace(verdict, neighbour_id=near.older.id),) if verdict else (),
            guard=guard_hash(tables_of(policy.languages), named=bool(ledger.names)),
        ),
        rank="judge" if verdict else "rule",
        outright=planned.face == "take",
        cause=run,
    )


def importance(memory: Memory, policy: Policy) -> float:
    """The highest importance of a memory's living members, as recorded.

    It is not decayed, because no two memories would then be equal. 0 if no member has a value and
    the policy has no default (`absent`).
    """
    return recorded_worth(memory, "importance", policy) or 0.0


# -- pairs ---------------------------------------------------------------------------------------


def _in_scope(memories: list[Memory], rule: PairsDedupe) -> Iterator[Near]:
    speakers = sorted((memory.face.speaker for memory in memories), key=lambda entry: entry.place)
    faces = [entry.memory.face.vector for entry in speakers]
    vectors = np.stack([vector_of(vector) for vector in faces if vector is not None])
    index = VectorIndex(vectors.shape[1])
    index.extend(vectors)
    floor = round(rule.above + 10**-DECIMALS, DECIMALS)
    found: dict[tuple[int, int], float] = {}
    for row, hits in enumerate(index.above(vectors, floor, limit=rule.top + 1)):
        others = [hit for hit in hits if hit.row != row]
        for hit in others[: rule.top - rule.counts_itself]:
            found[min(row, hit.row), max(row, hit.row)] = hit.score
    for (older, newer), score in found.items():
        seen = Neighbour(candidate_id=speakers[older].id, cosine=score)
        yield Near(speakers[older], speakers[newer], seen)


def _by_importance(pairs: list[Near], policy: Policy) -> list[Near]:
    """Pairs by mean importance, the highest first; then the nearest, then the earlier."""

    def order(near: Near) -> tuple[float, float, int, int]:
        both = sum(importance(memory, policy) for memory in near.memories)
        return -both, -near.score, near.older.place, near.newer.place

    return sorted(pairs, key=order)


# -- which face stays ----------------------------------------------------------------------------


def _planned(
    ledger: Ledger,
    policy: Policy,
    rule: PairsDedupe,
    near: Near,
    texts: Mapping[tuple[str, ...], ComposedText],
) -> PlannedJoin | ToCompose | None:
    """The join of a pair, or the text that it lacks; None if the pair stays as it is.

    It does if its text could not be kept, or if the model cannot tell the two apart. A chosen
    face stays; else that of the more important memory; equal ones are combined.
    """
    if not BLIND.isdisjoint(near.seen.cues):
        return None
    older, newer = near.memories
    chosen = older.face.chosen - newer.face.chosen
    weight = chosen or importance(older, policy) - importance(newer, policy)
    if weight or (older.face.chosen and newer.face.chosen):
        return PlannedJoin(near, "superseded", "take" if weight < 0 else "keep")
    return _combined(ledger, policy, rule, near, texts)


def _combined(
    ledger: Ledger,
    policy: Policy,
    rule: PairsDedupe,
    near: Near,
    texts: Mapping[tuple[str, ...], ComposedText],
) -> PlannedJoin | ToCompose | None:
    """The join of a pair by a text of both; None if the text could not be kept."""
    first, second = (entry.memory.face for entry in near.in_time)
    both = {*first.sources, *second.sources}
    sources = tuple(sorted(both, key=lambda candidate_id: by_moment(ledger.entries[candidate_id])))
    if rule.equal == "compose":
        made = texts.get(sources)
        if made is None:
            sides = tuple(spoken(ledger, entry, policy) for entry in near.in_time)
            return ToCompose(sides, sources)
        planned = PlannedJoin(near, "llm_merge", "text", made.text, sources, made.verdict)
    else:
        text = one_after_the_other([first.text, second.text])
        planned = PlannedJoin(near, "concatenated", "text", text, sources)
    kept = planned.text and concatenated(ledger, near.older.fields.namespace, planned.text, sources)
    return planned if kept else None


def _absorbed(planned: PlannedJoin) -> Entry:
    """The candidate whose face is lost; if both are combined, the one that happened later."""
    match planned.face:
        case "keep":
            return planned.near.newer
        case "take":
            return planned.near.older
        case "text":
            return planned.near.in_time[1]
