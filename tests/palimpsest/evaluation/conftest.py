"""Labelled pairs of made-up words, and an engine that needs no model."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from palimpsest.evaluation.labelled import Label, LabelledPair
from palimpsest.evaluation.trial import TrialVectors
from tests.stub_engine import StubEngine

WORDS = "Ada owns keeps feeds big small red blue dogs cats birds near the old mill daily".split()


@pytest.fixture
def vectors() -> TrialVectors:
    return TrialVectors(StubEngine())


def silent(_what: str, _share: float | None) -> None:
    """No progress."""


def edited(seed: int, count: int) -> Iterator[LabelledPair]:
    """Pairs from equal texts to texts with nothing in common, some with a number or a negation."""
    chance = random.Random(seed)
    for number in range(count):
        words = [f"x{number}", *chance.choices(WORDS, k=chance.randint(4, 14))]
        other = [*words]
        for _ in range(chance.choice((0, 1, 1, 2, 4, 12))):
            other[chance.randrange(len(other))] = chance.choice((*WORDS, "3", "not", "🍕"))
        ends = chance.choice(("", ".", ".", " today"))
        label: Label = chance.choice(("same", "different"))
        yield LabelledPair(
            str(number), " ".join(words), " ".join(other) + ends, label, source="made-up"
        )
