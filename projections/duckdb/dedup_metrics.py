"""Metrics of duplicates on arrival, counted from the log's projection (designs/namespaced.md).

They are in Prometheus' text format, for a textfile collector if no worker exposes them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from palimpsest.projections.duckdb.queries import queries
from palimpsest.streams.core.skips import SCORES, label_of, skipped_for

_DECIDED = """
SELECT namespace, decision, count(*) AS n FROM decisions
WHERE event = 'decided' AND candidate_id IS NOT NULL GROUP BY ALL ORDER BY ALL
"""
_SCORES = """
SELECT namespace, decision, similarity, count(*) AS n FROM decisions
WHERE event = 'decided' AND joined_to IS NOT NULL AND similarity IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""
CHECKS = "palimpsest_dedup_checks_total"
SKIPPED = "palimpsest_dedup_skipped_total"
SCORE = "palimpsest_dedup_similarity_score"


def dedup_metrics(folder: Path, named: Container[str]) -> str:
    """The metrics of a store; namespaces that are not in `named` count as `other`."""
    decided, scores = queries(folder, (_DECIDED, ()), (_SCORES, ()))
    checks: Counter[tuple[str, str]] = Counter()
    skipped: Counter[tuple[str, str]] = Counter()
    for row in decided:
        namespace, reason = label_of(row["namespace"], named), skipped_for(row["decision"])
        checks[namespace, "duplicate" if reason else "unique"] += row["n"]
        if reason is not None:
            skipped[namespace, reason] += row["n"]
    near: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for row in scores:
        if skipped_for(row["decision"]) == "semantic":
            near[label_of(row["namespace"], named)][row["similarity"]] += row["n"]
    lines = [
        *_counter(CHECKS, "New candidates that were compared on arrival.", "result", checks),
        *_counter(SKIPPED, "Duplicates on arrival, by reason.", "reason", skipped),
        *_histogram(SCORE, "The scores of semantic duplicates.", near),
    ]
    return "".join(f"{line}\n" for line in lines)


def _counter(name: str, says: str, label: str, counts: Counter[tuple[str, str]]) -> Iterator[str]:
    yield from _head(name, says, "counter")
    for (namespace, value), n in sorted(counts.items()):
        yield f"{name}{{{_labels(('namespace', namespace), (label, value))}}} {n}"


def _histogram(name: str, says: str, by_namespace: dict[str, Counter[float]]) -> Iterator[str]:
    yield from _head(name, says, "histogram")
    for namespace, scores in sorted(by_namespace.items()):
        counts = [0] * (len(SCORES) + 1)
        for score, n in scores.items():
            counts[bisect_left(SCORES, score)] += n
        so_far = 0
        for upper, n in zip((*map(str, SCORES), "+Inf"), counts, strict=True):
            so_far += n
            yield f"{name}_bucket{{{_labels(('namespace', namespace), ('le', upper))}}} {so_far}"
        own = _labels(("namespace", namespace))
        yield f"{name}_sum{{{own}}} {sum(score * n for score, n in scores.items()):.4f}"
        yield f"{name}_count{{{own}}} {so_far}"


def _head(name: str, says: str, kind: str) -> Iterable[str]:
    return (f"# HELP {name} {says}", f"# TYPE {name} {kind}")


def _labels(*pairs: tuple[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
