"""The nightly janitor: the pairs it looks at, those it misses, and its time without the judge."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.scratch import scratch_folder
from bench.sentences import sentences
from palimpsest import Palimpsest
from palimpsest.cli.demo.rules import same
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import TokenDedupe
from palimpsest.jobs.dedupe import Wanted, dedupe
from palimpsest.streams.core.text import normalise
from palimpsest.streams.dedupe.key_tokens import key_tokens, sharing_pairs
from palimpsest.streams.embedder import ignore_progress, load_engine
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.policies import load_policy

STORE_TIME = load_policy("store-time")
UNSEEING = STORE_TIME.model_copy(update={"checks": (), "name": "unseeing"})
"""A policy that stores everything, so that the janitor finds pairs not compared on arrival."""
PUBLISHED = 467
"""The number of memories for which the design document counts 214 thousand comparisons."""
GRAY = 0.88
RUNS = 3


class _AtOnce:
    """A judge that answers by rules on words, and whose time is excluded."""

    recorded = None

    def __init__(self) -> None:
        self.seconds = 0.0

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Same or different, for each pair by its two texts alone."""
        begun = time.perf_counter()
        rows = [
            Verdict(
                neighbour_id=pair.older.candidate_id,
                answer="same" if same(pair.older.text, pair.newer.text) == "same" else "different",
                model="rules",
            )
            for pair in pairs
        ]
        self.seconds += time.perf_counter() - begun
        return rows

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Do nothing: no question is interrupted."""

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """Never called: the janitor's policy only joins."""
        raise AssertionError(f"a text made of {len(sources)} was asked for")

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`."""
        return await self.compare(pairs)


class _Store(Palimpsest):
    """A store whose janitor asks a given judge."""

    def run(self, judge: _AtOnce) -> dict[str, Any]:
        """Run the janitor, without setting up the judge."""
        return asyncio.run(dedupe(self.writer, judge, Wanted(datetime.now(UTC)), ignore_progress))


def janitor(scale: Scale) -> list[Measured]:
    """Seconds of a run over one owner's memories, the share of pairs looked at, and recall."""
    texts = distinct_texts(scale, scale.of(1_000, 10_000, 10_000))
    with scratch_folder() as folder:
        filled = folder / "filled"
        with Palimpsest.open(filled, policy=UNSEEING) as store:
            store.submit([{"owner_id": "one", "text": text} for text in texts])
            store.set_policy(STORE_TIME)
        runs = [_run(filled, folder / str(number)) for number in range(RUNS)]
    seconds, answers = [run[0] for run in runs], [run[1] for run in runs]
    beside = {
        "pairs": float(answers[0]["pairs"]),
        "asked": float(sum(answers[0]["asked"].values())),
        "joined": float(len(answers[0]["joined"])),
    }
    note = f"{answers[0]['memories']} memories with vectors, every event visible at the end"
    name = "a janitor's run outside the judge"
    took = Measured(name, "s", seconds, 20, at_most=True, note=note, beside=beside)
    return [took, *_looked_at(scale)]


def distinct_texts(scale: Scale, count: int) -> list[str]:
    """Texts that differ after normalisation: from the streams, then made-up ones."""
    found = {normalise(text): text for _, text in distinct(scale.data, count)}
    for text in sentences():
        if len(found) >= count:
            break
        found[normalise(text)] = text
    return random.Random(1).sample([*found.values()], count)


def _run(filled: Path, folder: Path) -> tuple[float, dict[str, Any]]:
    shutil.copytree(filled, folder)
    judge = _AtOnce()
    with _Store.open(folder) as store:
        store.status()
        begun = time.perf_counter()
        answer = store.run(judge)
        return time.perf_counter() - begun - judge.seconds, answer


def _looked_at(scale: Scale) -> list[Measured]:
    """Of as many texts as in the document: which shares of all and of near pairs are looked at."""
    shares, recalls = [], []
    engine = load_engine()
    for number in range(RUNS):
        some = random.Random(number).sample(distinct_texts(scale, 3_000), PUBLISHED)
        vectors = np.stack([one.vector for one in engine.embed(some)]).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        near = {(int(a), int(b)) for a, b in np.argwhere(np.triu(vectors @ vectors.T, 1) >= GRAY)}
        rule = STORE_TIME.dedupe
        assert isinstance(rule, TokenDedupe)
        pairs = sharing_pairs([key_tokens(text) for text in some], rule.candidates)
        shares.append(len(pairs) / (PUBLISHED * (PUBLISHED - 1) / 2))
        found = near & {(int(a), int(b)) for a, b in pairs}
        recalls.append(len(found) / len(near) if near else 1.0)
    note = f"{PUBLISHED} texts of all streams together, {RUNS} samples"
    return [
        Measured("pairs looked at, of all", "share", shares, 0.15, at_most=True, note=note),
        Measured("pairs over .88 that are looked at", "share", recalls, None, note=note),
    ]
