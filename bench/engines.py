"""Processor time of the model with 8-bit integers compared with full precision, in turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.opened import OWNER, busy_ms, row, scratch_palimpsest
from palimpsest.streams.embedder import INT8_MODEL, Engine, load_engine

ROUNDS = 10
SHORT = 64
"""Maximum number of characters of a short text."""


def engines(scale: Scale) -> list[Measured]:
    """Short texts one by one, all texts in one call, and an agent's calls."""
    full, int8 = load_engine(), load_engine(INT8_MODEL)
    texts = [text for _, text in distinct(scale.data, 10_000)]
    random.Random(1).shuffle(texts)
    short = [text for text in texts if len(text) <= SHORT][: scale.of(10, 50, 200)]
    some = texts[: scale.of(50, 500, 2_000)]
    kind = "real" if scale.data else "made-up"
    return [
        _compared("one short text", full, int8, [[text] for text in short], kind, reach=0.5),
        _compared("texts in bulk", full, int8, [some], kind, reach=1 / 1.8),
        *_calls(texts, scale.of(50, 1_000, 1_000), scale.of(10, 100, 500), kind),
    ]


def _calls(texts: Sequence[str], held: int, rounds: int, kind: str) -> list[Measured]:
    """A submit and a recall in stores with the same memories, under `standard` and with int8."""
    policies = ("standard", "standard-int8")
    recalls: list[list[float]] = []
    submits: list[list[float]] = []
    with ExitStack() as stack:
        stores = [stack.enter_context(scratch_palimpsest(policy=policy)) for policy in policies]
        for store in stores:
            store.submit([row(text) for text in texts[:held]], source="bench")
        for text in texts[held : held + rounds]:
            recalls.append([busy_ms(store.recall, OWNER, text) for store in stores])
            submits.append([busy_ms(store.submit, row(text)) for store in stores])
    note = f"{held:,} memories of one owner, {rounds} {kind} texts, processor time, in turns"
    measured = []
    for call, taken in (("submit", submits), ("recall", recalls)):
        of_full, of_int8 = (median(times) for times in zip(*taken, strict=True))
        measured.append(
            Measured(
                f"one {call}: standard-int8 ÷ standard",
                "",
                [of_int8 / of_full],
                at_most=True,
                note=note,
                beside={"standard, ms": of_full, "standard-int8, ms": of_int8},
            )
        )
    return measured


def _compared(
    what: str, full: Engine, int8: Engine, calls: list[list[str]], kind: str, *, reach: float
) -> Measured:
    """`int8` divided by `full`, without the first round, in which nothing is warm."""
    rounds = [
        [busy_ms(list, map(engine.embed, calls)) for engine in (full, int8)]
        for _ in range(ROUNDS + 1)
    ][1:]
    count = sum(map(len, calls))
    return Measured(
        f"{what}: {INT8_MODEL} ÷ {full.model}",
        "",
        [of_int8 / of_full for of_full, of_int8 in rounds],
        reach,
        at_most=True,
        note=f"{count} {kind} texts, processor time, in turns",
        beside={
            f"{engine.model}, ms a text": sorted(taken)[ROUNDS // 2] / count
            for engine, taken in zip((full, int8), zip(*rounds, strict=True), strict=True)
        },
    )
