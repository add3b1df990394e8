"""A memory of thousands of members: a dry run of an un-merge, a cut, a person's join, a split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from bench.figure import Measured, Scale
from bench.opened import ms, row, writer_with
from bench.scratch import scratch_folder
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy

ROUNDS = 5
JOIN = "SELECT decision_id FROM joins WHERE memory_id = ? ORDER BY position LIMIT 1 OFFSET ?"
"""The decision of one of a memory's joins, counted by arrival."""
WIDE = 0.2
"""A threshold that joins sentences with some common words; the stub's own words score lower."""


def large_memory(scale: Scale) -> list[Measured]:
    """Seconds of each call about one large memory, until both projections show its effect."""
    count = scale.of(300, 5_000, 5_000)
    looked, cut, joined = [], [], []
    with _store() as store:
        store.submit([row(text) for text in islice(sentences(), count)], source="bench")
        memory_id, members = _largest(store)
        for number in range(ROUNDS):
            at = [memory_id, members * (number + 1) // (ROUNDS + 1)]
            middle = store.sql(JOIN, at)[0]["decision_id"]
            looked.append(_seconds(store.unmerge, decision_id=middle, dry_run=True))
            cut.append(_seconds(store.unmerge, decision_id=middle))
            store.reinstate(middle)
            alone = store.submit(row(f"qa{number} qb{number} qc{number}"))[0].candidate_id
            joined.append(_seconds(store.merge, memory_id, alone))
        apart = [_seconds(store.unmerge, memory_id=memory_id)]
    note = f"a memory of {members:,} members"
    return [
        *_repeats(scale.of(300, 10_000, 10_000)),
        Measured("dry run of an un-merge", "s", looked, 1.0, at_most=True, note=note),
        Measured("an un-merge in the middle", "s", cut, 1.0, at_most=True, note=note),
        Measured("a person's join", "s", joined, 0.06, at_most=True, note=note),
        Measured("un-merging all of it", "s", apart, 5.0, at_most=True, note=note),
    ]


def _repeats(count: int) -> Iterator[Measured]:
    """Seconds of a dry run of an un-merge that takes along half of many exact repeats."""
    with _store() as store:
        texts = [row("Ada keeps a red kettle."), row("Ada keeps a blue kettle.")]
        decision_id = store.submit(texts)[1].decision_id
        store.submit(texts * (count // 2), source="bench")
        members = _largest(store)[1]
        looked = [
            _seconds(store.unmerge, decision_id=decision_id, dry_run=True) for _ in range(ROUNDS)
        ]
    note = f"{members - 2:,} repeats of its two texts"
    yield Measured("dry run of an un-merge, repeats", "s", looked, 1.0, at_most=True, note=note)


@contextmanager
def _store() -> Iterator[Palimpsest]:
    wide = CosineCheck(check="cosine", zones=(Zone(at_least=WIDE, action="auto_reject"),))
    rules = load_policy("standard").model_dump() | {"name": "wide", "checks": (wide,)}
    policy = Policy.model_validate(rules)
    with scratch_folder() as folder:
        log = Log.create(folder / LOG_FILE, shared=True)
        writer = writer_with(StubEngine(), log, policy, wait="visible")
        with Palimpsest(folder, writer) as store:
            yield store


def _largest(store: Palimpsest) -> tuple[str, int]:
    row = store.sql("SELECT memory_id, members FROM memories ORDER BY members DESC LIMIT 1")[0]
    return row["memory_id"], row["members"]


def _seconds(call: Callable[..., Any], *words: Any, **named: Any) -> float:
    return ms(call, *words, **named) / 1e3
