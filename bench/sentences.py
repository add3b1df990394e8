"""Sentences as agents note them about people, made up from parts; the same ones in each run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

PARTS = Path(__file__).with_name("sentences.txt")
"""Who, verb, object, when and why, separated by blank lines; `-` leaves the part out."""


def sentences(seed: int = 1) -> Iterator[str]:
    """Distinct sentences of 6 to 26 words, up to some eight million."""
    parts = [block.split("\n") for block in PARTS.read_text("utf-8").strip().split("\n\n")]
    chance = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    while True:
        drawn = tuple(map(chance.choice, parts))
        if drawn not in seen:
            seen.add(drawn)
            words = " ".join(part for part in drawn if part != "-")
            yield words[0].upper() + words[1:] + "."
