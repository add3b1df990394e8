"""The time of `calibrate` compared with embedding its texts, and the questions it would save."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from bench.figure import Measured, Scale
from bench.quality import SETS
from bench.sentences import sentences
from palimpsest.evaluation.calibrate import ErrorBudget, calibrate, chosen
from palimpsest.evaluation.labelled import LabelledPair, read_pairs
from palimpsest.evaluation.trial import TrialVectors
from palimpsest.streams.embedder import ignore_progress, load_engine
from palimpsest.streams.policies import load_policy

BUDGET = ErrorBudget(0.005, 0.05, 0.95)


def calibrates(scale: Scale) -> list[Measured]:
    """Processor time of calibrating, divided by that of embedding; the held-out questions saved."""
    files = [scale.data / "pairs" / f"{name}.jsonl" for name in SETS] if scale.data else []
    found = read_pairs(files, {}) if files else [*_made_up()]
    pairs = random.Random(1).sample(found, min(scale.of(200, 6_000, len(found)), len(found)))
    vectors = TrialVectors(load_engine())
    vectors.embed(["the engine is warm"])
    begun = time.process_time()
    counted = [pair for half in chosen(pairs) for pair in half]
    vectors.prepare((text for pair in counted for text in (pair.a, pair.b)), ignore_progress)
    embedding = time.process_time() - begun
    data = {"digest": "sha256:bench", "date": "2026-01-01"}
    answer, _ = calibrate(pairs, load_policy("standard"), vectors, BUDGET, data, ignore_progress)
    whole = time.process_time() - begun
    note = f"{len(pairs):,} pairs in {len(counted):,} groups, processor time, embedding included"
    measured = [
        Measured("calibrate / embedding its texts", "times", [whole / embedding], 1.2, True, note)
    ]
    return measured + [
        _saved(stated)
        for stated in answer["thresholds"]
        if (stated["answer"], stated["language"]) == ("different", "all") and stated["certified"]
    ]


def _saved(stated: dict[str, Any]) -> Measured:
    """The share of held-out questions that a certified *different* answers."""
    held_out = stated["held_out"]
    return Measured(
        f"held-out questions saved by a certified different: {stated['score']}",
        "of them",
        [held_out["taken"] / held_out["of"]],
        0.4 if stated["score"] == "cues" else None,
        note=f"{held_out['errors']:,} of {held_out['taken']:,} wrong"
        f" (at most {held_out['bound']:.1%}), of {held_out['of']:,} questions",
    )


def _made_up() -> Iterator[LabelledPair]:
    """Pairs that differ in a number, or only in their final punctuation mark."""
    for number, text in zip(range(6_000), sentences(), strict=False):
        a = f"{text.removesuffix('.')} in {1_900 + number}"
        same = number % 2 == 0
        b = f"{a}." if same else f"{a}7"
        yield LabelledPair(str(number), a, b, "same" if same else "different")
