"""False merges and found duplicates on labelled pairs: `python -m bench.quality --data DIR`.

In every pair, a newcomer meets one candidate; the policy's checks and the guard decide. The rule of
`store-time` on the same rows is shown for comparison.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rapidfuzz.distance import Indel
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.printing import add_columns
from bench.rows import read_rows
from bench.vectors import KeptVectors
from palimpsest.contracts.policy import CosineCheck, Policy, TokenCheck
from palimpsest.evaluation.rates import upper_bound
from palimpsest.streams.core.text import normalise
from palimpsest.streams.embedder import Embedding, load_engine
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir
from palimpsest.streams.guard import Comparison, compare, guard_hash, read, tokens
from palimpsest.streams.guard.edits.alignment import explain
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.exact import cosine

SETS = (
    "pawsx_en breaking_nli sugarcrepe_pp version_updates cannot_negation e2e_slots fever_symmetric"
    " semantoneg verb_negation"
).split()
"""The files of `DIR/pairs` that are measured."""

STORE_TIME_AUTO = 0.98
STORE_TIME_GRAY = 0.88
STORE_TIME_ORDER = 0.95
"""The minimum order ratio that `store-time` calls near-identical in order."""

_WIDTH = 110
PARTS = ("all", "develop", "check")
Fate = Literal["exact", "joined", "asked", "kept"]
"""The fate of a pair: an exact repeat, joined by a rule, referred to the judge, or kept."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether they say the same."""

    a: str
    b: str
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A pair with everything that a policy may use."""

    pair: Pair
    cosine: float
    jaccard: float
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Counts:
    """What one rule did with the pairs of one set; exact repeats are counted apart."""

    distinct: int
    false_merges: int
    false_merge_bound: float
    distinct_asked: int
    duplicates: int
    joined: int
    duplicates_asked: int
    exact_distinct: int
    exact_duplicates: int

    @property
    def recall(self) -> float:
        """The share of duplicates joined without a judge."""
        return _share(self.joined, self.duplicates)

    @property
    def reach(self) -> float:
        """The share of duplicates not joined by a rule that reach the judge."""
        return _share(self.duplicates_asked, self.duplicates - self.joined)

    @property
    def asked(self) -> float:
        """The share of must-not-merge pairs that are referred to the judge."""
        return _share(self.distinct_asked, self.distinct)


def read_pairs(file: Path, part: str = "all") -> list[Pair]:
    """The pairs of a file except `related` ones; `develop` is seven tenths, `check` the rest."""
    return [
        Pair(row["a"], row["b"], row["label"] == "duplicate")
        for row in read_rows(file)
        if row["label"] != "related" and part in ("all", part_of(row["id"]))
    ]


def write_part(data: Path, part: str, to: Path) -> None:
    """Write the rows of a part to one file, as `evaluate` and `calibrate` read them."""
    lines = [
        line
        for name in SETS
        for line in (data / "pairs" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        if part in ("all", part_of(json.loads(line)["id"]))
    ]
    to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def part_of(identifier: str) -> str:
    """The part that a row belongs to, by its id."""
    number = int.from_bytes(hashlib.sha256(identifier.encode()).digest())
    return "develop" if number % 10 < 7 else "check"


def see(pair: Pair, vectors: Mapping[str, Embedding], model: str) -> Seen:
    """Measure a pair as the pipeline does, with the vectors of a model."""
    a, b = vectors[pair.a], vectors[pair.b]
    one, other = tokens(pair.a), tokens(pair.b)
    return Seen(
        pair,
        cosine(a.vector, b.vector),
        round(_share(len(one & other), len(one | other)), 4),
        compare(
            read(pair.a, truncated=a.truncated, unknown=a.unknown, model=model),
            read(pair.b, truncated=b.truncated, unknown=b.unknown, model=model),
        ),
    )


def by_policy(policy: Policy, seen: Seen) -> Fate:
    """What the policy does with a pair of two sessions (docs/design.md, Policies and cues)."""
    if _is_exact(seen):
        return "exact"
    passes = seen.comparison.near_identical and not seen.comparison.cues
    fate: Fate = "kept"
    for check in policy.checks:
        match check:
            case TokenCheck() if seen.jaccard >= check.threshold:
                fate = "asked" if check.guard and not passes else "joined"
            case CosineCheck():
                fate = _by_cosine(check, seen.cosine, passes=passes) or fate
            case _:
                pass
        if fate == "joined":
            break
    return fate


def _by_cosine(check: CosineCheck, cosine: float, *, passes: bool) -> Fate | None:
    """What a cosine check does with a pair that passes the guard or not; None if nothing."""
    if passes and check.near_identical is not None and cosine >= check.near_identical:
        return "joined"
    zone = next((zone for zone in check.zones if cosine >= zone.at_least), None)
    if zone is None:
        return None
    return "asked" if zone.action == "pending" or (zone.guard and not passes) else "joined"


def by_store_time(seen: Seen) -> Fate:
    """What `store-time` does with a pair: its threshold with order, and its gray zone."""
    if _is_exact(seen):
        return "exact"
    if seen.cosine < STORE_TIME_GRAY:
        return "kept"
    if seen.cosine < STORE_TIME_AUTO:
        return "asked"
    return "joined" if order_ratio(seen.pair.a, seen.pair.b) >= STORE_TIME_ORDER else "asked"


def order_ratio(one: str, other: str) -> float:
    """Order-aware similarity of the words of two texts, 0 to 1, rounded to four decimals."""
    words, others = read(one).clues.words, read(other).clues.words
    return round(Indel.normalized_similarity(words, others), 4)


def earned(seen: Iterable[Seen], policy: Policy) -> dict[str, tuple[int, int]]:
    """By edit: the duplicates joined with it, and those joined only with it; most first."""
    withs, alone = Counter[str](), Counter[str]()
    for one in seen:
        if one.pair.duplicate and by_policy(policy, one) == "joined":
            names = {edit.name for edit in explain(read(one.pair.a), read(one.pair.b)) or ()}
            withs.update(names)
            alone.update(names if len(names) == 1 else ())
    return {name: (joined, alone[name]) for name, joined in withs.most_common()}


def as_edits(found: Mapping[str, tuple[int, int]]) -> Table:
    """A table of what each edit of the guard earned, one row each."""
    table = Table(title="Duplicates joined, by the edits that explain them")
    add_columns(table, ("edit",), ("joined", "by it alone"))
    for name, (joined, alone) in found.items():
        table.add_row(name, str(joined), str(alone))
    return table


def count(fates: Iterable[tuple[Pair, Fate]]) -> Counts:
    """Count what became of pairs."""
    found = {
        (same, fate): 0 for same in (True, False) for fate in ("exact", "joined", "asked", "kept")
    }
    for pair, fate in fates:
        found[pair.duplicate, fate] += 1
    distinct = found[False, "joined"] + found[False, "asked"] + found[False, "kept"]
    return Counts(
        distinct=distinct,
        false_merges=found[False, "joined"],
        false_merge_bound=upper_bound(found[False, "joined"], distinct),
        distinct_asked=found[False, "asked"],
        duplicates=found[True, "joined"] + found[True, "asked"] + found[True, "kept"],
        joined=found[True, "joined"],
        duplicates_asked=found[True, "asked"],
        exact_distinct=found[False, "exact"],
        exact_duplicates=found[True, "exact"],
    )


def measure(seen: Sequence[Seen], policy: Policy) -> tuple[Counts, Counts]:
    """The results of the policy, and of `store-time`, on the same pairs."""
    ours = count((s.pair, by_policy(policy, s)) for s in seen)
    return ours, count((s.pair, by_store_time(s)) for s in seen)


def as_json(
    found: dict[str, tuple[Counts, Counts]],
    policy: Policy,
    edits: Mapping[str, tuple[int, int]],
) -> str:
    """All counts and rates, by set and rule, and what each edit earned."""
    rows = {
        name: {
            rule: _with_rates(counts)
            for rule, counts in zip((policy.name, "store-time"), both, strict=True)
        }
        for name, both in found.items()
    }
    by_edit = {name: {"joined": one, "alone": alone} for name, (one, alone) in edits.items()}
    head = {"policy": policy.name, "policy_hash": policy.hash, "guard": guard_hash()}
    return json.dumps({**head, "sets": rows, "edits": by_edit}, indent=2)


def as_table(found: dict[str, tuple[Counts, Counts]], policy: Policy) -> Table:
    """The same as a table: one row for each set and rule."""
    exact = found["all"][0]
    table = Table(
        title="Pairs joined without a judge, and pairs referred to it",
        caption="bound: one-sided 95 % (Clopper-Pearson). asked: share of must-not-merge pairs; "
        "reach: of the duplicates that no rule joined. Exact repeats are apart: "
        f"{exact.exact_distinct} must-not-merge pairs, {exact.exact_duplicates} duplicates.",
    )
    columns = ("false merges", "bound", "duplicates", "recall", "asked", "reach")
    add_columns(table, ("set", "rule"), columns)
    for name, both in found.items():
        for rule, counts in zip((policy.name, "store-time"), both, strict=True):
            table.add_row(
                name,
                rule,
                f"{counts.false_merges}/{counts.distinct}",
                f"{counts.false_merge_bound:.2%}",
                f"{counts.joined}/{counts.duplicates}",
                f"{counts.recall:.1%}",
                f"{counts.asked:.1%}",
                f"{counts.reach:.1%}",
            )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with pairs/")
    parser.add_argument("--policy", default="standard", help="a preset, or a policy file")
    parser.add_argument("--part", choices=PARTS, default="all", help="which rows, by their id")
    parser.add_argument("--cache", type=Path, default=default_cache_dir(), help="keeps vectors")
    parser.add_argument("--to", type=Path, help="measure nothing: write these rows to this file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.to is not None:
        write_part(options.data, options.part, options.to)
        return 0
    console = Console(stderr=options.json)
    console.width = max(console.width, _WIDTH)
    policy = load_policy(options.policy)
    sets = {
        name: read_pairs(options.data / "pairs" / f"{name}.jsonl", options.part) for name in SETS
    }
    vectors = _embed(sets.values(), policy, options.cache)
    everything: list[Seen] = []
    found: dict[str, tuple[Counts, Counts]] = {}
    for name, pairs in sets.items():
        seen = [see(pair, vectors, policy.model) for pair in pairs]
        found[name] = measure(seen, policy)
        everything += seen
    found["all"] = measure(everything, policy)
    edits = earned(everything, policy)
    if options.json:
        sys.stdout.write(as_json(found, policy, edits) + "\n")
    else:
        console.print(as_table(found, policy))
        console.print(as_edits(edits))
    return 0


def _embed(sets: Iterable[list[Pair]], policy: Policy, cache: Path) -> dict[str, Embedding]:
    texts = {text for pairs in sets for pair in pairs for text in (pair.a, pair.b)}
    engine = load_engine(policy.model, cache_dir=cache)
    with (
        closing(KeptVectors(cache / "bench-vectors.sqlite", engine)) as kept,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("embedding", total=len(texts))
        return kept.of(texts, lambda more: progress.advance(task, more))


def _with_rates(counts: Counts) -> dict[str, float]:
    rates = {"recall": counts.recall, "reach": counts.reach, "asked": counts.asked}
    return asdict(counts) | {name: round(rate, 4) for name, rate in rates.items()}


def _is_exact(seen: Seen) -> bool:
    return normalise(seen.pair.a) == normalise(seen.pair.b)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


if __name__ == "__main__":
    sys.exit(main())
