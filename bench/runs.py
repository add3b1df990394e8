"""A run of the design `importance` over one owner's memories, without embedding."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime
from typing import Any

from bench.figure import Measured, Scale
from bench.janitor import distinct_texts
from bench.opened import scratch_palimpsest

RUNS = 3
SIZES = ((1_000, 1.0), (10_000, 10.0))
"""Numbers of one owner's memories, and the seconds that a run over them may take."""


def runs(scale: Scale) -> list[Measured]:
    """Seconds from the request until the run and its joins are durable."""
    return [
        _over(scale, count, most)
        for count, most in SIZES
        if count <= scale.of(1_000, 10_000, 10_000)
    ]


def _over(scale: Scale, count: int, most: float) -> Measured:
    texts = distinct_texts(scale, count)
    seconds, answer = [], dict[str, Any]()
    for number in range(RUNS):
        chance = random.Random(number)
        rows = [{"owner_id": "one", "text": text, "importance": chance.random()} for text in texts]
        with scratch_palimpsest(policy="importance") as store:
            store.submit(rows)
            store.status()
            begun = time.perf_counter()
            answer = store.dedupe(due=datetime.now(UTC))
            seconds.append(time.perf_counter() - begun)
    figures = answer["runs"][0]["figures"]
    name = f"a run by importance over {count} memories"
    note = "no two are equally important, so nothing is embedded"
    beside = {"joined": float(len(answer["joined"])), "inside_ms": figures["duration_ms"]}
    return Measured(name, "s", seconds, most, at_most=True, note=note, beside=beside)
