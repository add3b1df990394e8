"""How well the memories made from a labelled stream agree with its gold clusters.

The stream goes through a real store. Then a judge answers the pending questions by the gold labels:
this shows how much a judge could gain at most in the gray zone, and with how many questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from bench.rows import batched, read_rows
from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.requests import SettleRequest
from palimpsest.evaluation.rates import Agreement, b_cubed, pairwise
from palimpsest.jobs.ingest import Summary

FILE = Path("streams/labelled_e2e.jsonl")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one way of running the stream."""

    memories: int
    pairs: Agreement
    b_cubed: Agreement


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """Pending candidates, and the pairs that a judge looks at until it finds one the same."""

    candidates: int
    pairs: int


def gold_of(file: Path) -> dict[str, str]:
    """The gold cluster of each candidate; ids are derived from the row's number."""
    return {
        candidate_id(row["owner_id"], FILE.name, str(number)): row["gold_cluster"]
        for number, row in enumerate(read_rows(file))
    }


def ingest(store: Palimpsest, file: Path) -> Summary:
    """Offer every row without its label."""
    summary = Summary()
    for rows in batched(enumerate(read_rows(file)), 512):
        numbered = [
            {"owner_id": row["owner_id"], "text": row["text"], "id": str(number)}
            for number, row in rows
        ]
        summary.add(store.submit(numbered, source=FILE.name))
    return summary


def agreement(store: Palimpsest, gold: dict[str, str]) -> Found:
    """The agreement of the current memories with the gold clusters."""
    rows = store.sql("SELECT candidate_id, memory_id FROM candidates")
    clusters = {row["candidate_id"]: row["memory_id"] for row in rows}
    return Found(len(set(clusters.values())), pairwise(clusters, gold), b_cubed(clusters, gold))


def judge_by_gold(store: Palimpsest, gold: dict[str, str]) -> JudgeWork:
    """Settle pending candidates by the labels, best neighbour first, as a judge would."""
    pending = store.sql(
        "SELECT candidate_id, asked FROM decisions WHERE decision = 'pending' ORDER BY position"
    )
    requests = [
        SettleRequest(
            request_id=str(uuid4()),
            candidate_id=row["candidate_id"],
            verdicts=verdicts_of(row["candidate_id"], row["asked"], gold),
        )
        for row in pending
    ]
    store.settle(requests)
    return JudgeWork(len(requests), sum(len(request.verdicts) for request in requests))


def verdicts_of(candidate: str, asked: Sequence[str], gold: dict[str, str]) -> tuple[Verdict, ...]:
    """One verdict for each neighbour asked about, up to the first that is the same."""
    verdicts = []
    for neighbour in asked:
        same = gold[neighbour] == gold[candidate]
        verdicts.append(Verdict(neighbour_id=neighbour, answer="same" if same else "different"))
        if same:
            break
    return tuple(verdicts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print precision and recall, pair by pair and B-cubed."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with streams/")
    parser.add_argument("--policy", default="standard", help="a preset, or a policy file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    console = Console(stderr=True)
    file = options.data / FILE
    gold = gold_of(file)
    with TemporaryDirectory() as folder, Palimpsest.open(folder, policy=options.policy) as store:
        with console.status("ingesting"):
            summary = ingest(store, file)
        alone = agreement(store, gold)
        with console.status("judging by the labels"):
            asked = judge_by_gold(store, gold)
        judged = agreement(store, gold)
    if options.json:
        answer = {
            "rows": summary.rows,
            "gold_clusters": len(set(gold.values())),
            "decisions": dict(summary.decisions),
            "asked": asdict(asked),
            "alone": asdict(alone),
            "judged_by_gold": asdict(judged),
        }
        sys.stdout.write(json.dumps(answer) + "\n")
    else:
        Console().print(as_table(gold, alone, judged))
        Console().print(f"{asked.candidates:,} were pending, {asked.pairs:,} pairs asked about")
    return 0


def as_table(gold: dict[str, str], alone: Found, judged: Found) -> Table:
    """One row for each way of running the stream."""
    table = Table(title=f"{FILE.name}: {len(gold):,} rows, {len(set(gold.values())):,} clusters")
    for name in ("run", "memories", "pairs: precision", "recall", "B-cubed: precision", "recall"):
        table.add_column(name, justify="left" if name == "run" else "right")
    for name, found in (("automatic joins alone", alone), ("and a perfect judge", judged)):
        rates = (
            found.pairs.precision,
            found.pairs.recall,
            found.b_cubed.precision,
            found.b_cubed.recall,
        )
        table.add_row(name, f"{found.memories:,}", *(f"{rate:.4f}" for rate in rates))
    return table


if __name__ == "__main__":
    sys.exit(main())
