"""`python -m bench peers --quality --data DIR`: false joins against duplicates found, by rule.

The published rules of other systems and our presets decide on the same labelled pairs, with the
vectors of one model; a rule that leaves the answer to a model counts as having asked. The figures
do not show how a rule would do with the embedder it is tuned for.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.printing import add_columns, print_line, print_wide
from bench.quality import PARTS, SETS, part_of
from bench.vectors import KeptVectors
from palimpsest.evaluation.evaluate import LabelCounts, evaluate_pairs
from palimpsest.evaluation.labelled import LabelledPair, read_pairs
from palimpsest.evaluation.trial import Fate, TrialVectors
from palimpsest.streams.embedder import DEFAULT_MODEL, load_engine
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.search.exact import cosine

CONFIDENCE = 0.95


class Rule(NamedTuple):
    """A published rule of a system: `decide` takes a pair and its cosine; `source` cites it."""

    name: str
    source: str
    decide: Callable[[LabelledPair, float], Fate]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    rule: str
    source: str
    counts: LabelCounts


def at_least(threshold: float, fate: Fate = "joined") -> Callable[[LabelledPair, float], Fate]:
    """A rule that only looks at the cosine."""
    return lambda _, score: fate if score >= threshold else "kept"


def by_shingles(pair: LabelledPair, _cosine: float) -> Fate:
    """Graphiti's gate for names: character trigrams with a Jaccard score of .9 and more.

    Names of low entropy, and short ones of one word, are not compared. Its MinHash only finds
    candidates (it misses 2 in 10,000 at .9) and is left out.
    """
    one, other = (
        " ".join(re.sub(r"[^a-z0-9' ]", " ", text.lower()).split()) for text in (pair.a, pair.b)
    )
    for name in (one, other):
        letters = Counter(name.replace(" ", ""))
        shares = [count / letters.total() for count in letters.values()]
        entropy = -sum(share * math.log2(share) for share in shares)
        if (len(name) < 6 and " " not in name) or entropy < 1.5:
            return "kept"
    first, second = (_trigrams(name.replace(" ", "")) for name in (one, other))
    return "joined" if len(first & second) >= 0.9 * len(first | second) else "kept"


PEERS = (
    Rule("semhash .9", "semhash 0.5.0, semhash.py: self_deduplicate(threshold=0.9)", at_least(0.9)),
    Rule("semhash .95", "the same with threshold=0.95", at_least(0.95)),
    Rule(
        "hindsight .97",
        "hindsight-api-slim 1.1.0, config.py: DEFAULT_CONSOLIDATION_DEDUP_THRESHOLD; "
        "its model reads each such pair",
        at_least(0.97, "asked"),
    ),
    Rule(
        "graphiti .9",
        "graphiti-core 0.31.2, dedup_helpers.py: _FUZZY_JACCARD_THRESHOLD, used for names",
        by_shingles,
    ),
    Rule(
        "mem0 .95",
        "mem0ai 2.2.1, memory/main.py: score >= 0.95, used for entities; "
        "texts of memories are compared by MD5",
        at_least(0.95),
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Measure, print a table or JSON, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description=__doc__)
    parser.add_argument("--quality", action="store_true", required=True, help="what they join")
    parser.add_argument("--data", type=Path, required=True, help="folder with pairs/")
    parser.add_argument("--part", choices=PARTS, default="all", help="which rows, by their id")
    parser.add_argument("--cache", type=Path, default=default_cache_dir(), help="keeps vectors")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    options = parser.parse_args(arguments)
    files = [options.data / "pairs" / f"{name}.jsonl" for name in SETS]
    pairs = [
        pair
        for pair in read_pairs(files, {})
        if pair.label != "related" and not pair.exact and options.part in ("all", part_of(pair.id))
    ]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding", total=1.0)

        def show(what: str, share: float | None) -> None:
            progress.update(task, description=what, completed=share or 0.0)

        rows = compare_rules(pairs, options.cache, show)
    if options.json:
        for row in rows:
            figures = row.counts.document(CONFIDENCE)
            print_line({"rule": row.rule, "source": row.source, **figures})
    else:
        print_wide(as_table(rows))
    return 0


def compare_rules(
    pairs: Sequence[LabelledPair], cache: Path, progress: Callable[[str, float | None], None]
) -> list[Row]:
    """The results of each rule and each preset on the same pairs."""
    presets = map(load_policy, preset_names())
    policies = [policy for policy in presets if policy.model == DEFAULT_MODEL]
    engine = load_engine(cache_dir=cache)
    with closing(KeptVectors(cache / "bench-vectors.sqlite", engine)) as kept:
        vectors = TrialVectors(kept)
        vectors.prepare({text for pair in pairs for text in (pair.a, pair.b)}, progress)
    scores = [cosine(*(found.vector for found in vectors.embed([p.a, p.b]))) for p in pairs]
    rows = []
    for rule in PEERS:
        fates = map(rule.decide, pairs, scores)
        rows.append(Row(rule.name, rule.source, count(zip(pairs, fates, strict=True))))
    for policy in policies:
        seen = evaluate_pairs(pairs, policy, vectors, progress)
        counts = count((each.pair, each.fate) for each in seen)
        rows.append(
            Row(policy.name, "a preset, through a writer, the worse of both orders", counts)
        )
    return rows


def count(fates: Iterable[tuple[LabelledPair, Fate]]) -> LabelCounts:
    """Count the fates of pairs."""
    counts = LabelCounts()
    for pair, fate in fates:
        counts.add(pair.label, fate)
    return counts


def as_table(rows: Sequence[Row]) -> Table:
    """One line for each rule, with false joins and their bound first."""
    table = Table(
        title="What joins without a model, and what goes to one",
        caption=f"bound: one-sided {CONFIDENCE:.0%} (Clopper-Pearson); wrong of joined "
        "depends on the mix of these pairs. Exact repeats and pairs labelled related are left out.",
    )
    columns = ("false joins", "bound", "found", "wrong of joined", "asked: different", "same")
    add_columns(table, ("rule",), columns)
    for row in rows:
        found = row.counts.document(CONFIDENCE)
        table.add_row(
            row.rule,
            f"{row.counts.false_joins:,} of {row.counts.different:,}",
            f"{found['false_join_bound']:.2%}",
            f"{found['recall']:.1%}",
            f"{found['wrong_share']:.1%}" if found["joined"] else "none joined",
            f"{row.counts.different_asked:,}",
            f"{row.counts.same_asked:,}",
        )
    return table


def _trigrams(word: str) -> set[str]:
    return {word[start : start + 3] for start in range(max(len(word) - 2, 1))}
