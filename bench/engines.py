"""Processor time of the model with 8-bit integers compared with full precision, in turns."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.embedding import distinct
from bench.figure import Measured, Scale
from palimpsest import Palimpsest
from palimpsest.streams.embedder import INT8_MODEL, Engine, load_engine

ROUNDS = 10
OWNER = "owner"
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
    taken: dict[str, list[list[float]]] = {"submit": [], "recall": []}
    with ExitStack() as stack:
        stores = []
        for policy in ("standard", "standard-int8"):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="palimpsest-bench-"))
            store = stack.enter_context(Palimpsest.open(Path(folder) / "store", policy=policy))
            store.submit([_row(text) for text in texts[:held]], source="bench")
            stores.append(store)
        for text in texts[held : held + rounds]:
            for call, row in (("recall", (OWNER, text)), ("submit", (_row(text),))):
                both = [_ms_of(store, call, row) for store in stores]
                taken[call].append(both)
    note = f"{held:,} memories of one owner, {rounds} {kind} texts, processor time, in turns"
    return [
        Measured(
            f"one {call}: standard-int8 ÷ standard",
            "",
            [median(of_int8 for _, of_int8 in both) / median(of_full for of_full, _ in both)],
            at_most=True,
            note=note,
            beside={
                f"{policy}, ms": median(one[at] for one in both)
                for at, policy in enumerate(("standard", "standard-int8"))
            },
        )
        for call, both in taken.items()
    ]


def _row(text: str) -> dict[str, str]:
    return {"owner_id": OWNER, "text": text}


def _ms_of(store: Palimpsest, call: str, arguments: tuple[object, ...]) -> float:
    begun = time.process_time()
    getattr(store, call)(*arguments)
    return (time.process_time() - begun) * 1e3


def _compared(
    what: str, full: Engine, int8: Engine, calls: list[list[str]], kind: str, *, reach: float
) -> Measured:
    """`int8` divided by `full`, without the first round, in which nothing is warm."""
    rounds = [[_busy_ms(engine, calls) for engine in (full, int8)] for _ in range(ROUNDS + 1)][1:]
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


def _busy_ms(engine: Engine, calls: Sequence[list[str]]) -> float:
    begun = time.process_time()
    for texts in calls:
        engine.embed(texts)
    return (time.process_time() - begun) * 1e3
