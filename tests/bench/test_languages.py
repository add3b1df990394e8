"""The table by language counts what a policy does with pairs, and what a newcomer reaches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bench.languages import Row, by_language, reach
from bench.quality import Pair
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.policies import load_policy

POLICY = load_policy("multilingual")


def vectors(cosines: dict[str, float]) -> dict[str, Embedding]:
    """Texts with these cosines to the axis, each in a plane of its own."""
    found = {}
    for place, (text, cosine) in enumerate(cosines.items(), 1):
        row = np.zeros(len(cosines) + 1, np.float16)
        row[0], row[place] = cosine, np.sqrt(1 - cosine**2)
        found[text] = Embedding(row, truncated=False, unknown=())
    return found


def rows(texts: Iterable[tuple[str, str]]) -> list[Row]:
    return [Row("ada", text, cluster) for text, cluster in texts]


def test_pairs_are_counted_by_language() -> None:
    pairs = {
        "de": [
            Pair("Ada hat drei Hunde und eine Katze.", "Ada hat 3 Hunde und eine Katze.", True),
            Pair("Ada hat drei Hunde und eine Katze.", "Ada hat 4 Hunde und eine Katze.", False),
            Pair("Er wohnt in Bonn.", "er wohnt  in Bonn.", True),
        ],
        "ja": [Pair("彼女は猫が好き", "彼女は猫が好き。", True)],
    }
    texts = {text for some in pairs.values() for pair in some for text in (pair.a, pair.b)}
    german, japanese = by_language(pairs, vectors(dict.fromkeys(sorted(texts), 0.99)), POLICY)
    assert (german.language, german.distinct, german.false_joins, german.asked) == ("de", 1, 0, 1)
    assert (german.duplicates, german.joined, german.reached) == (1, 1, 1)
    assert (japanese.duplicates, japanese.joined, japanese.distinct) == (1, 1, 0)


def test_a_newcomer_reaches_a_duplicate_among_those_that_are_asked_about() -> None:
    near = {"a red kite flies": 0.999, "some crimson glider soars": 0.999, "tea": 0.2}
    said = rows(
        [("a red kite flies", "kite"), ("tea", "tea"), ("some crimson glider soars", "kite")]
    )
    found = reach(said, vectors(near), POLICY)
    assert (found.newcomers, found.reached) == (1, 1)
    far = vectors(near | {"a red kite flies": 0.5})
    assert reach(said, far, POLICY).reached == 0
    assert reach([*said, said[0]], vectors(near), POLICY).newcomers == 1
