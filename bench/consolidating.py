"""How long it takes to end a session that has a thousand memories to consolidate."""

from __future__ import annotations

import shutil
import time
from itertools import islice
from pathlib import Path

from bench.figure import Measured, Scale
from bench.scratch import scratch_folder
from bench.sentences import sentences
from palimpsest import Palimpsest
from palimpsest.streams.policies import load_policy

LAYERED = load_policy("layered")
UNSEEING = LAYERED.model_copy(update={"checks": (), "name": "unseeing"})
"""A policy that stores everything: the usual one would join many texts on arrival."""
OWNER, SESSION = "one", "session"
RUNS = 5


def session_end(scale: Scale) -> list[Measured]:
    """Seconds from the call until the session's end and all its joins are durable."""
    half = [*islice(sentences(), scale.of(100, 1_000, 1_000) // 2)]
    texts = [*half, *(f"{text.rstrip('.')} indeed." for text in half)]
    with scratch_folder() as folder:
        filled = folder / "filled"
        with Palimpsest.open(filled, policy=UNSEEING) as store:
            rows = [{"owner_id": OWNER, "session_id": SESSION, "text": text} for text in texts]
            store.submit(rows)
            store.set_policy(LAYERED)
        runs = [_run(filled, folder / str(number)) for number in range(RUNS)]
    took, beside = zip(*runs, strict=True)
    note = f"{len(texts)} memories of one session, one category, embedded before"
    name = "the end of a session"
    return [Measured(name, "ms", [*took], 300, at_most=True, note=note, beside=beside[0])]


def _run(filled: Path, folder: Path) -> tuple[float, dict[str, float]]:
    shutil.copytree(filled, folder)
    with Palimpsest.open(folder) as store:
        store.status()
        store.recall(OWNER, "warm")  # the owner is in memory, as at the end of a real session
        began = time.perf_counter()
        answer = store.end_session(OWNER, SESSION)
        took = (time.perf_counter() - began) * 1000
        return took, {
            "merged_groups": answer["merged_groups"],
            "superseded_count": answer["superseded_count"],
            "compression_ratio": answer["compression_ratio"],
            "avg_similarity": answer["avg_similarity"],
        }
