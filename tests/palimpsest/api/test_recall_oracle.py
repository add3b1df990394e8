"""Recall, by the ledger and by LanceDB, finds what a look at every memory in turn finds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.requests import Selection
from palimpsest.contracts.shown import Recalled
from palimpsest.projections.recall import from_lance as recall_lance
from palimpsest.queries import recall as recalling
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import compare, frame, read
from palimpsest.streams.policies import load_policy
from tests.long import long_but
from tests.stub_engine import vector_of

STANDARD = load_policy("standard")
AT_LEAST = 0.85
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = "the cat slept near the old stove".split()
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"namespace": "home"},
    {"category": "plan"},
    {"metadata": {"page": 1}},
    {"metadata": {"page": 1, "draft": True}, "namespace": "work"},
    {"since": START + timedelta(days=2)},
    {"since": START + timedelta(days=1), "until": START + timedelta(days=3), "category": "taste"},
    {"category": "none of them"},
)


def rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    def word(one: str) -> str:
        return chance.choice([*[one] * 9, "two", "dog", "kettle"])

    return [
        {
            "owner_id": "ada",
            "id": f"{chance.getrandbits(64):x}",
            "text": " ".join(map(word, WORDS)) + chance.choice(["", "."]),
            "namespace": chance.choice(["home", "work"]),
            "category": chance.choice(["plan", "taste"]),
            "metadata": {"page": chance.choice([1, 2]), "draft": chance.choice([True, False])},
            "occurred_at": (START + timedelta(days=chance.randint(0, 4))).isoformat(),
            "session_id": chance.choice(["s1", "s2"]),
        }
        for _ in range(count)
    ]


class Hit(NamedTuple):
    memory_id: str
    score: Any
    folded: list[str]
    members: dict[str, str]
    frame: list[str]


def as_hits(found: list[Recalled]) -> list[Hit]:
    return [
        Hit(
            one["memory_id"],
            pytest.approx(one["score"], abs=2e-3),
            one["folded"],
            {member["candidate_id"]: member["relation"] for member in one["members"]},
            one.get("frame", []),
        )
        for one in found
    ]


def near(a: str, b: str) -> float:
    one, other = (vector_of(text).astype(np.float64) for text in (a, b))
    return round(float(one @ other / np.linalg.norm(one) / np.linalg.norm(other)), 4)


class Oracle:
    """Looks at every living memory in turn; shares only the guard and the fold of the log."""

    def __init__(self, store: Palimpsest) -> None:
        self.ledger = Ledger("ada")
        for recorded in store.reader.log.of_owner("ada"):
            evolve(self.ledger, recorded.event)
        self.separated = {
            frozenset((row["candidate_id"], row["other_id"]))
            for row in store.sql("SELECT candidate_id, other_id FROM separations WHERE standing")
        }

    def recall(self, query: str, k: int, *, fold: bool, wanted: Mapping[str, Any]) -> list[Hit]:
        ranked = sorted(
            (m for m in self.ledger.memories() if self.passes(m, wanted)),
            key=lambda m: (-self.score(m, query), m.members[0].decided_at, m.id),
        )
        folds: list[list[Memory]] = []
        for memory in ranked:
            for one in folds if fold else ():
                if all(self.alike(memory, other) for other in one):
                    one.append(memory)
                    break
            else:
                folds.append([memory])
        return [
            Hit(
                head.id,
                self.score(head, query),
                [other.id for other in others],
                {i: r for one in (head, *others) for i, r in self.relations(one).items()},
                [other[0].id for other in group if other[0] is not head],
            )
            for group in self.groups(folds[:k])
            for head, *others in group
        ]

    def groups(self, folds: list[list[Memory]]) -> list[list[list[Memory]]]:
        """The memories of one frame, newest first, at the rank of the best of them."""
        left, groups = [*folds], []
        while left:
            group = [left.pop(0)]
            for fold in [*left]:
                if all(self.of_one_frame(fold[0], other[0]) for other in group):
                    group.append(fold)
                    left.remove(fold)
            groups.append(sorted(group, key=lambda fold: self.newness(fold[0]), reverse=True))
        return groups

    def of_one_frame(self, one: Memory, other: Memory) -> bool:
        pairs = {frozenset((x.id, y.id)) for x in one.members for y in other.members}
        said = frame(read(one.face.text), read(other.face.text))
        return said and one.namespace == other.namespace and not pairs & self.separated

    def newness(self, memory: Memory) -> tuple[Any, int]:
        speaker = memory.face.speaker
        return speaker.fields.occurred_at, speaker.place

    def passes(self, memory: Memory, wanted: Mapping[str, Any]) -> bool:
        def has(entry: Entry) -> bool:
            at, data = entry.fields.occurred_at, entry.fields.metadata
            assert at is not None
            return (
                entry.living
                and wanted.get("namespace", entry.fields.namespace) == entry.fields.namespace
                and wanted.get("category", entry.fields.category) == entry.fields.category
                and wanted.get("since", at) <= at
                and (at < wanted["until"] if "until" in wanted else True)
                and all(data[name] is value for name, value in wanted.get("metadata", {}).items())
            )

        return any(has(entry) for entry in memory.members)

    def score(self, memory: Memory, query: str) -> float:
        texts = [entry.text for entry in memory.members if entry.living]
        living_elsewhere = {
            entry.text
            for entry in memory.members
            if not any(
                member.living and member.memory is memory for member in entry.distinct.members
            )
        }
        return max(near(text, query) for text in {*texts, memory.face.text} - living_elsewhere)

    def alike(self, one: Memory, other: Memory) -> bool:
        a, b = one.face.text, other.face.text
        seen = compare(read(a), read(b))
        pairs = {frozenset((x.id, y.id)) for x in one.members for y in other.members}
        return (
            one.namespace == other.namespace
            and near(a, b) >= AT_LEAST
            and seen.near_identical
            and not seen.cues
            and not pairs & self.separated
        )

    def relations(self, memory: Memory) -> dict[str, str]:
        """By text, found by walking from the speaker over joins that displace nothing."""
        reached, edge_of = {memory.face.speaker}, list(memory.edges())
        while True:
            more = {
                end
                for edge in edge_of
                if edge.face in ("keep", "repeat") and not edge.former
                if reached & {edge.newer, edge.older}
                for end in (edge.newer, edge.older)
            } - reached
            if not more:
                break
            reached |= more
        return {
            entry.id: "same" if entry in reached else "former"
            for entry in memory.members
            if entry.distinct.representative is entry
        }


def histories(store: Palimpsest, chance: random.Random) -> Iterator[None]:
    """Rows that were never compared, then compared ones, with people's statements about them."""
    store.submit(rows(chance, 24))
    yield
    store.set_policy(STANDARD)
    store.submit(rows(chance, 8))
    ids = [row["candidate_id"] for row in store.sql("FROM candidates ORDER BY position")]
    for _ in range(6):
        a, b = chance.sample(ids, 2)
        try:
            match chance.randint(0, 3):
                case 0:
                    store.merge(a, b)
                case 1:
                    store.merge(a, b, face=b)
                case 2:
                    store.separate(a, b)
                case _:
                    store.retract(Selection(candidate_id=a))
        except RefusedError:
            continue
    yield


@pytest.mark.parametrize("seed", long_but(0, of=range(2)))
def test_both_ways_are_what_looking_at_all_of_them_finds(
    memories: Palimpsest, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    memories.set_policy(STANDARD.model_copy(update={"enabled": False}))
    stored: list[bool] = []
    folded: list[str] = []
    framed: list[str] = []
    ask = recall_lance.recall

    def counted(*args: Any, **kwargs: Any) -> list[Recalled] | None:
        found = ask(*args, **kwargs)
        stored.append(found is not None)
        return found

    monkeypatch.setattr(recalling, "recall_stored", counted)
    for _ in histories(memories, chance):
        oracle = Oracle(memories)
        memories.wait_for(memories.position)
        with (
            Palimpsest.open(memories.folder, create=False, by="person") as reader,
            monkeypatch.context() as m,
        ):
            m.setattr(store_reader, "FOLDED_EVENTS", 0)
            for wanted in FILTERS:
                query = " ".join(chance.sample(WORDS, 4))
                k, fold = chance.choice([1, 3, 50]), chance.random() < 0.7
                how: dict[str, Any] = {"k": k, "fold": fold, "former": True, **wanted}
                active = fold and memories.policy.enabled
                expected = oracle.recall(query, k, fold=active, wanted=wanted)
                folded += [hit.memory_id for hit in expected if hit.folded]
                framed += [hit.memory_id for hit in expected if hit.frame]
                here = memories.recall("ada", query, **how)
                assert as_hits(here) == expected
                reader.reader._owners.forget({"ada"})
                assert reader.recall("ada", query, **how) == here
    assert any(stored), "LanceDB answered"
    assert folded
    assert framed
    assert not all(stored), "it did not where something may be folded"
