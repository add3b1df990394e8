"""The guard's processor time for a pair of texts: both new, and both read before."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from statistics import mean, median

from bench.figure import Measured, Scale
from bench.quality import SETS, read_pairs
from bench.sentences import sentences
from palimpsest.streams.guard import compare, read

ROUNDS = 3
LENGTHS = (1, 32)
"""KiB of the long texts; the cost is linear if it grows by the same ratio."""


def guard(scale: Scale) -> list[Measured]:
    """Labelled pairs from the data's `pairs/`, or successive sentences; and long texts."""
    pairs = _pairs(scale)
    new, known = list[list[float]](), list[list[float]]()
    for _ in range(ROUNDS):
        new.append([_busy_us(lambda a, b: compare(read(a), read(b)), *pair) for pair in pairs])
        both = [(read(a), read(b)) for a, b in pairs]
        for one, other in both:
            compare(one, other)
        known.append([_busy_us(compare, *pair) for pair in both])
    short, long = ([_long(length, at) for at in range(scale.of(2, 12, 12))] for length in LENGTHS)
    per_length = median(long) / median(short) / (LENGTHS[1] / LENGTHS[0])
    name = f"the guard: two texts of {LENGTHS[1]} KiB that differ at their end"
    took = [n / 1e3 for n in long]
    beside = {f"÷ {LENGTHS[1]} × that of {LENGTHS[0]} KiB": per_length}
    return [
        _measured("the guard: a pair of new texts", new, len(pairs)),
        _measured("the guard: a pair of texts that it has read", known, len(pairs)),
        Measured(name, "ms", took, at_most=True, beside=beside),
    ]


def _pairs(scale: Scale) -> Sequence[tuple[str, str]]:
    most = scale.of(100, 10_000, 40_000)
    if scale.data is None:
        return [*islice(pairwise(sentences()), most)]
    files = (scale.data / "pairs" / f"{name}.jsonl" for name in SETS)
    found = [(pair.a, pair.b) for file in files for pair in read_pairs(file)]
    return found[:: max(1, len(found) // most)]


def _long(length: int, seed: int) -> float:
    """The cost, in µs, of a pair of texts of `length` KiB that differ in their last word."""
    text = ""
    for sentence in sentences(seed):
        text += sentence + " "
        if len(text) >= length * 1024:
            break
    return _busy_us(lambda a, b: compare(read(a), read(b)), text + "Tea", text + "Coffee")


def _measured(name: str, rounds: Sequence[Sequence[float]], count: int) -> Measured:
    means = {"mean": median(map(mean, rounds))}
    medians = [*map(median, rounds)]
    return Measured(name, "µs", medians, at_most=True, note=f"{count} pairs", beside=means)


def _busy_us(call: Callable[..., object], *words: object) -> float:
    begun = time.thread_time_ns()
    call(*words)
    return (time.thread_time_ns() - begun) / 1e3
