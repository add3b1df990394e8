"""designs/importance.md: its own examples with the default model, and what a threshold would do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.policy import PairsDedupe
from palimpsest.streams.policies import load_policy

PRESET = load_policy("importance")
MEASURED = [
    ("Lives in Paris", "Home in Paris, France", 0.829, True),
    ("Prefers Python", "Python is favorite", 0.862, True),
    ("Works at Google", "Software engineer at Google", 0.410, False),
    ("Likes coffee", "Enjoys croissants", 0.310, False),
]
"""The table of the document, under our model."""
CONTEXT = [
    ("I live in Paris", "My home is in Paris, France", 0.765, True),
    ("I prefer Python", "Python is my favorite language", 0.834, True),
    ("I work at Google", "I'm a software engineer at Google", 0.7563, True),
]
"""Its Context; the last pair has, in the table's words, different aspects: it merges wrongly."""
WORKS_AT_GOOGLE = CONTEXT[-1][:2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Palimpsest]:
    """A store with an owner for each pair, under the preset; the model is the default one."""
    folder = tmp_path_factory.mktemp("pairs") / "store"
    with Palimpsest.open(folder, policy=PRESET, by="person") as opened:
        opened.submit(
            [
                {"owner_id": first, "text": text}
                for first, second, *_ in MEASURED + CONTEXT
                for text in (first, second)
            ]
        )
        yield opened


def planned(store: Palimpsest, above: float) -> dict[str, float]:
    """The pairs that a run would join over a threshold, by owner, with their cosines."""
    assert PRESET.dedupe is not None
    rule = PRESET.dedupe.model_copy(update={"above": above})
    store.set_policy(PRESET.model_copy(update={"dedupe": rule}))
    found = store.dedupe(dry_run=True, force=True)["joined"]
    return {one["owner_id"]: one["similarity"] for one in found}


@pytest.mark.parametrize(("first", "second", "cosine", "merged"), MEASURED + CONTEXT)
def test_empirical_testing_with_sample_memories(
    store: Palimpsest, first: str, second: str, cosine: float, merged: bool
) -> None:
    assert (first in planned(store, 0.75)) is merged
    assert planned(store, 0.0)[first] == pytest.approx(cosine, abs=0.002), second


def test_which_threshold_would_separate_all_seven_and_how_little_is_left(
    store: Palimpsest,
) -> None:
    merged = {first for first, *_, same in MEASURED + CONTEXT if same}
    assert planned(store, 0.76).keys() == merged - {WORKS_AT_GOOGLE[0]}
    assert planned(store, 0.77).keys() == merged - {WORKS_AT_GOOGLE[0], "I live in Paris"}
    assert isinstance(PRESET.dedupe, PairsDedupe)
    assert PRESET.dedupe.above == 0.75


def test_what_merges_wrongly_loses_no_word_and_can_be_taken_back(tmp_path: Path) -> None:
    first, second = WORKS_AT_GOOGLE
    with Palimpsest.open(tmp_path / "store", policy=PRESET, by="person") as store:
        store.submit([{"owner_id": "ann", "text": text} for text in (first, second)])
        [joined] = store.dedupe(force=True)["joined"]
        assert joined["face"] == f"{first}. {second}"
        store.unmerge(decision_id=joined["decision_id"])
        assert store.dedupe(force=True)["joined"] == []


TRIP = "Nora sailed with her brother along the coast from Lisbon to Porto {}"
TRIPS = (
    "in calm weather and with a borrowed chart",
    "and lost an anchor on the second evening near a lighthouse",
    "while her brother read novels about whales and mended the torn sail with floss",
    "and slept on deck, fished for mackerel at dawn and cooked it with lemon and thyme",
    "and came home with forty photographs of seagulls, a sunburnt nose and a stray cat in a basket",
)


def test_a_run_by_plan_joins_the_pairs_of_the_dry_run_and_no_others(tmp_path: Path) -> None:
    """Also where texts that it puts together are more than the model reads at a time."""
    both = f"{TRIP}; {TRIP}; it was the sailing trip of last spring, along the coast to Porto"
    told = [
        *(both.format(trip, trip) for trip in TRIPS),
        "Nora sailed along the coast from Lisbon to Porto",
    ]
    with Palimpsest.open(tmp_path / "store", policy=PRESET, by="person") as store:
        store.submit([{"owner_id": "nora", "text": text} for text in told])
        shown = store.dedupe(dry_run=True, force=True)
        done = store.dedupe(force=True, plan=shown["plan"])
        assert [one | {"decision_id": None} for one in done["joined"]] == shown["joined"]
        assert len(shown["joined"]) == len(TRIPS)


def test_what_comes_in_after_a_plan_was_compared_is_not_joined_by_it(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store", policy=PRESET, by="person") as store:
        store.submit([{"owner_id": "ann", "text": text} for text in MEASURED[0][:2]])
        plan = store.dedupe(dry_run=True, force=True)["plan"]
        turns: list[str] = []

        def say_more(what: str, _share: float | None) -> None:
            turns.append(what)
            if len(turns) == 2:  # the first is of the dry run that is compared with the plan
                store.submit({"owner_id": "ann", "text": "Ann lives in Paris"})

        with pytest.raises(RefusedError, match="has changed since") as refused:
            store.dedupe(force=True, plan=plan, progress=say_more)
        assert refused.value.reason == "moved_on"
        assert store.status()["joins"] == 0
