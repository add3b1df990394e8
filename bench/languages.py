"""False joins, recall by rule, and reach, by language: `python -m bench.languages --data DIR`.

PAWS-X is read pair by pair: in every pair, a newcomer meets one candidate. `labelled_e2e` is read
owner by owner: a newcomer with a duplicate is reached if a rule joins it to one, or if the judge is
asked about the two. Exact repeats are left out everywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.printing import add_columns
from bench.quality import Pair, by_policy, count, see
from bench.rows import read_rows as rows_of
from bench.vectors import KeptVectors
from palimpsest.contracts.policy import CosineCheck, Policy
from palimpsest.streams.core.text import normalise
from palimpsest.streams.embedder import Embedding, load_engine
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir
from palimpsest.streams.policies import load_policy

PAIRS = ("pawsx_en.jsonl", "pawsx_multilingual.jsonl")
STREAM = Path("streams/labelled_e2e.jsonl")
POLICIES = ("standard", "multilingual")


@dataclass(frozen=True, slots=True)
class InLanguage:
    """What a policy does with the pairs of a language."""

    policy: str
    language: str
    distinct: int
    false_joins: int
    bound: float
    """The one-sided bound at 95 % (Clopper-Pearson)."""
    duplicates: int
    joined: int
    reached: int
    """Duplicates that are joined or referred to the judge."""
    asked: int
    """Pairs of different texts that are referred to the judge."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the labelled stream."""

    owner: str
    text: str
    cluster: str


@dataclass(frozen=True, slots=True)
class Reach:
    """How many newcomers have a duplicate, and how many of these join one or are asked about it."""

    newcomers: int
    reached: int


def by_language(
    pairs: Mapping[str, Sequence[Pair]], vectors: Mapping[str, Embedding], policy: Policy
) -> list[InLanguage]:
    """What a policy does with each language's pairs."""
    found = []
    for language, some in pairs.items():
        seen = [see(pair, vectors, policy.model) for pair in some]
        counts = count((one.pair, by_policy(policy, one)) for one in seen)
        found.append(
            InLanguage(
                policy.name,
                language,
                counts.distinct,
                counts.false_merges,
                counts.false_merge_bound,
                counts.duplicates,
                counts.joined,
                counts.joined + counts.duplicates_asked,
                counts.distinct_asked,
            )
        )
    return found


def reach(rows: Iterable[Row], vectors: Mapping[str, Embedding], policy: Policy) -> Reach:
    """How many newcomers are compared with a duplicate that the policy joins, or asks about.

    The neighbours are the nearest earlier texts of the owner, as many as the policy's cosine check
    takes; the judge is asked about the first ones in the gray zone.
    """
    check = next(each for each in policy.checks if isinstance(each, CosineCheck))
    earlier: dict[str, dict[str, Row]] = defaultdict(dict)
    newcomers = reached = 0
    for row in rows:
        others = [*earlier[row.owner].values()]
        if normalise(row.text) in earlier[row.owner]:
            continue
        earlier[row.owner][normalise(row.text)] = row
        if row.cluster not in {other.cluster for other in others}:
            continue
        newcomers += 1
        unit = _unit([vectors[other.text] for other in others])
        cosines = unit @ _unit([vectors[row.text]])[0]
        nearest = [others[at] for at in np.argsort(-cosines, kind="stable")[: check.top]]
        reached += _reaches(row, nearest, vectors, policy)
    return Reach(newcomers, reached)


def _reaches(
    row: Row, nearest: Sequence[Row], vectors: Mapping[str, Embedding], policy: Policy
) -> bool:
    asked = 0
    for other in nearest:
        same = row.cluster == other.cluster
        pair = Pair(other.text, row.text, same)
        fate = by_policy(policy, see(pair, vectors, policy.model))
        asked += fate == "asked"
        if same and (fate == "joined" or (fate == "asked" and asked <= policy.judge.neighbours)):
            return True
    return False


def _unit(embedded: Sequence[Embedding]) -> NDArray[np.float32]:
    rows = np.stack([one.vector for one in embedded]).astype(np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def read_pairs(folder: Path) -> dict[str, list[Pair]]:
    """The pairs of PAWS-X by language; `en` if a row names none."""
    found: dict[str, list[Pair]] = defaultdict(list)
    for name in PAIRS:
        for row in rows_of(folder / name):
            pair = Pair(row["a"], row["b"], row["label"] == "duplicate")
            found[row.get("lang", "en")].append(pair)
    return dict(sorted(found.items()))


def read_rows(file: Path) -> list[Row]:
    """The rows of the labelled stream, in order."""
    return [Row(row["owner_id"], row["text"], row["gold_cluster"]) for row in rows_of(file)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.languages", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with pairs/ and streams/")
    parser.add_argument("--cache", type=Path, default=default_cache_dir(), help="keeps vectors")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    pairs, rows = read_pairs(options.data / "pairs"), read_rows(options.data / STREAM)
    found: list[InLanguage] = []
    reaches: dict[str, Reach] = {}
    for policy in map(load_policy, POLICIES):
        texts = {text for some in pairs.values() for pair in some for text in (pair.a, pair.b)}
        engine = load_engine(policy.model, cache_dir=options.cache)
        with closing(KeptVectors(options.cache / "bench-vectors.sqlite", engine)) as kept:
            vectors = kept.of(texts | {row.text for row in rows})
        found += by_language(pairs, vectors, policy)
        reaches[policy.name] = reach(rows, vectors, policy)
    if options.json:
        answer = {
            "pairs": [*map(asdict, found)],
            "stream": {n: asdict(r) for n, r in reaches.items()},
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        return 0
    console = Console()
    console.width = max(console.width, 110)
    console.print(as_table(found))
    for name, one in reaches.items():
        share = one.reached / one.newcomers
        console.print(f"{STREAM.name}, {name}: {share:.1%} of {one.newcomers:,} newcomers reached")
    return 0


def as_table(found: Iterable[InLanguage]) -> Table:
    """One row for each policy and language."""
    table = Table(title="PAWS-X by language, exact repeats apart; bound: one-sided 95 %")
    columns = ("false joins", "bound", "joined", "joined or asked", "distinct asked")
    add_columns(table, ("policy", "language"), columns)
    for one in found:
        table.add_row(
            one.policy,
            one.language,
            f"{one.false_joins}/{one.distinct}",
            f"{one.bound:.2%}",
            f"{one.joined}/{one.duplicates}",
            f"{one.reached / max(1, one.duplicates):.1%}",
            f"{one.asked / max(1, one.distinct):.1%}",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
