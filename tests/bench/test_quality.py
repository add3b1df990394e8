"""What becomes of a pair under a policy, and how it is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench.quality import (
    SETS,
    Counts,
    Fate,
    Pair,
    Seen,
    as_edits,
    as_json,
    as_table,
    by_policy,
    by_store_time,
    count,
    earned,
    main,
    measure,
    order_ratio,
    part_of,
    read_pairs,
    see,
)
from bench.vectors import KeptVectors
from palimpsest.evaluation.labelled import read_pairs as read_labelled
from palimpsest.streams.embedder import DEFAULT_MODEL, Embedding
from palimpsest.streams.guard import compare, read
from palimpsest.streams.policies import load_policy, parse_policy

POLICY = parse_policy(
    """
name = "test"
model = "none"
search = "candidates"
checks = [
    { check = "tokens", threshold = 0.9 },
    { check = "cosine", zones = [
        { at_least = 0.8, action = "auto_reject", guard = true },
        { at_least = 0.6, action = "pending" },
    ] },
]
""",
    "test",
)


def seen(a: str, b: str, cosine: float, jaccard: float = 0.0, *, duplicate: bool = True) -> Seen:
    return Seen(Pair(a, b, duplicate), cosine, jaccard, compare(read(a), read(b)))


@pytest.mark.parametrize(
    ("pair", "fate"),
    [
        (seen("Has a hen", "has  a HEN", 0.1), "exact"),
        (seen("Has a hen", "Has a hen.", 0.8), "joined"),
        (seen("Has a hen", "Has a hen.", 0.79), "asked"),
        (seen("Has a hen", "Has a hen.", 0.1, 0.9), "joined"),
        (seen("Has 2 hens", "has 3 hens.", 0.99), "asked"),
        (seen("Has 2 hens", "has 3 hens.", 0.1, 0.9), "asked"),
        (seen("Has 2 hens", "has 3 hens.", 0.6), "asked"),
        (seen("Has 2 hens", "has 3 hens.", 0.5999), "kept"),
    ],
)
def test_the_policy_decides_as_its_checks_say(pair: Seen, fate: Fate) -> None:
    assert by_policy(POLICY, pair) == fate


@pytest.mark.parametrize(
    ("pair", "fate"),
    [
        (seen("Has a hen", "has a hen", 0.1), "exact"),
        (seen("Has a red hen", "Has a red hen.", 0.98), "asked"),
        (seen("A " * 30 + "hen", "A " * 30 + "hen.", 0.98), "joined"),
        (seen("A " * 30 + "hen", "A " * 30 + "hen.", 0.9799), "asked"),
        (seen("Has a hen", "Has a cat", 0.88), "asked"),
        (seen("Has a hen", "Has a cat", 0.8799), "kept"),
    ],
)
def test_store_time_decides_by_its_two_thresholds(pair: Seen, fate: Fate) -> None:
    assert by_store_time(pair) == fate


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("Ana trained Bo", "Ana trained Bo", 1.0),
        ("Ana trained Bo", "Bo trained Ana", 0.3333),
        ("Likes the tea", "Likes tea", 0.8),
    ],
)
def test_the_order_ratio_counts_every_word_in_order(one: str, other: str, ratio: float) -> None:
    assert order_ratio(one, other) == ratio


def test_counts_and_rates() -> None:
    same, other = Pair("a", "b", True), Pair("a", "b", False)
    fates: list[tuple[Pair, Fate]] = [(same, "exact"), (other, "exact"), (same, "joined")]
    fates += [(same, "asked"), (same, "kept"), (other, "joined"), (other, "asked"), (other, "kept")]
    counts = count([*fates, (other, "kept")])
    assert (counts.distinct, counts.false_merges, counts.distinct_asked) == (4, 1, 1)
    assert (counts.duplicates, counts.joined, counts.duplicates_asked) == (3, 1, 1)
    assert (counts.exact_distinct, counts.exact_duplicates) == (1, 1)
    assert counts.recall == pytest.approx(1 / 3)
    assert counts.reach == pytest.approx(1 / 2)
    assert counts.asked == pytest.approx(1 / 4)
    assert counts.false_merge_bound > 1 / 4


def test_a_set_without_pairs_is_counted() -> None:
    counts = count([])
    assert counts.false_merge_bound == 1.0
    assert counts.recall == counts.reach == counts.asked == 0.0


def test_related_rows_are_left_out_and_the_parts_are_the_whole(tmp_path: Path) -> None:
    labels = ["duplicate", "distinct", "contradiction", "related"] * 25
    rows = [{"id": str(n), "a": "x", "b": "y", "label": x} for n, x in enumerate(labels)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    everything = read_pairs(file)
    assert len(everything) == 75
    assert sum(pair.duplicate for pair in everything) == 25
    assert len(read_pairs(file, "develop")) + len(read_pairs(file, "check")) == 75
    assert 50 < sum(part_of(str(n)) == "develop" for n in range(100)) < 90


def test_a_part_is_written_as_labelled_pairs(tmp_path: Path) -> None:
    folder, to = tmp_path / "pairs", tmp_path / "check.jsonl"
    folder.mkdir()
    for name in SETS:
        rows = [{"id": f"{name}{n}", "a": "x", "b": "y", "label": "related"} for n in range(20)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["--data", str(tmp_path), "--part", "check", "--to", str(to)]) == 0
    written = read_labelled([to], {})
    everything = [f"{name}{n}" for name in SETS for n in range(20)]
    assert [pair.id for pair in written] == [i for i in everything if part_of(i) == "check"]


class Counting:
    """An engine that gives each text a vector of its length, and counts its calls."""

    name = "stub"
    model = "none"
    dimension = 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.embedded += texts
        return [self._embedding(text) for text in texts]

    @staticmethod
    def _embedding(text: str) -> Embedding:
        windows = np.array([[n, 0] for n in range(9, len(text))], np.float16)
        vector = np.array([len(text), 1], np.float16)
        long = len(text) > 9
        return Embedding(vector, long, tuple(text[:1]), windows=windows if long else None)


def test_vectors_are_kept_between_runs(tmp_path: Path) -> None:
    engine, told = Counting(), list[int]()
    texts = {"a hen", "a long red hen"}
    for _ in range(2):
        kept = KeptVectors(tmp_path / "deep" / "kept.sqlite", engine)
        found = kept.of(texts, told.append)
        kept.close()
        assert found["a long red hen"].truncated
        assert found["a long red hen"].windows is not None
        assert found["a long red hen"].windows.tolist() == [[n, 0] for n in range(9, 14)]
        assert found["a hen"].windows is None
        assert found["a hen"].unknown == ("a",)
        assert found["a hen"].vector.tolist() == [5, 1]
    assert sorted(engine.embedded) == sorted(texts)
    assert told == [0, 2, 2]


def test_a_pair_is_seen_as_the_pipeline_sees_it() -> None:
    vectors = {
        "She has two hens": Embedding(np.array([1, 0], np.float16), False, ()),
        "She has 2 hens": Embedding(np.array([1, 0], np.float16), False, ("hens",)),
    }
    found = see(Pair("She has two hens", "She has 2 hens", True), vectors, DEFAULT_MODEL)
    assert found.cosine == 1.0
    assert found.jaccard == 0.6
    assert found.comparison.near_identical
    assert found.comparison.cues == ("unknown_token",)


def test_results_are_printed_as_json_and_as_a_table() -> None:
    pairs = [seen("Has a hen", "Has a hen.", 0.9), seen("Has a hen", "Met Bo", 0.1)]
    found = {"all": measure(pairs, POLICY)}
    edits = earned(pairs, POLICY)
    told = json.loads(as_json(found, POLICY, edits))
    assert told["edits"] == {"final-stop": {"joined": 1, "alone": 1}}
    row = told["sets"]["all"]
    assert row["test"]["recall"] == row["test"]["joined"] / 2 == 0.5
    assert row["store-time"]["duplicates_asked"] == 1
    console = Console(record=True, width=120, quiet=True)
    console.print(as_table(found, POLICY))
    console.print(as_edits(edits))
    assert all(isinstance(counts, Counts) for counts in found["all"])


def test_the_default_policy_is_known_and_the_sets_are_named_once() -> None:
    assert load_policy("standard").checks
    assert len(set(SETS)) == 9
