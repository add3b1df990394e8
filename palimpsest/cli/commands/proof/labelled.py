"""The proof of a policy on labelled data: `evaluate`, `calibrate` (docs/proof.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table as RichTable

from palimpsest.cli import rendering
from palimpsest.cli.invocation import (
    Invocation,
    WhichPolicy,
    invocation,
    named_values,
)
from palimpsest.cli.shell import REFUSED
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import missing_extra
from palimpsest.process.targets import require_targets, write_whole

if TYPE_CHECKING:
    from palimpsest.contracts.policy import Policy
    from palimpsest.evaluation.labelled import LabelledPair
    from palimpsest.evaluation.tables import ReportTable
    from palimpsest.evaluation.trial import TrialVectors
    from palimpsest.process.output import Progress

evaluate_app = typer.Typer()
calibrate_app = typer.Typer()

Pairs = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Labelled pairs, as CSV, JSON lines or Parquet: columns a, b and label; optionally"
        " id, language, source, and a judge's probability, model, answer and prompt; repeatable.",
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="THEIRS=OURS", help="Read their column as ours; repeatable."),
]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts.")
]
Confidence = Annotated[
    float,
    typer.Option(min=0.5, max=0.9999, metavar="C", help="How sure each bound is; default .95."),
]


@evaluate_app.command(
    epilog="Example: palimpsest evaluate --pairs labelled.jsonl --policy standard"
)
def evaluate(
    context: typer.Context,
    pairs: Pairs = None,
    clusters: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Labelled clusters: columns text (or texts, a list) and cluster_id; optionally"
            " owner_id; repeatable.",
        ),
    ] = None,
    policy: WhichPolicy = None,
    confidence: Confidence = 0.95,
    renames: Map = None,
    page: Page = None,
) -> None:
    """Count how many joins of a policy are wrong, on labelled pairs or clusters.

    The policy itself decides in a temporary store, on each pair in both orders, or on each owner's
    clusters as a stream. The bounds are exact and one-sided. Your store is not read.
    """
    from palimpsest.evaluation import evaluate as evaluating

    call = invocation(context)
    if bool(pairs) == bool(clusters):
        raise UsageError("name --pairs or --clusters, one of the two")
    require_page(page)
    rules, names = call.settings.policy_of_new_store(policy), named_values("--map", renames)
    from palimpsest.evaluation.labelled import digest_of, read_clusters, read_pairs
    from palimpsest.evaluation.tables import evaluation_sentences, evaluation_tables

    with call.output.progress() as report:
        if pairs:
            rows = read_pairs(pairs, names)
            vectors = _vectors(call, rules, report)
            seen = evaluating.evaluate_pairs(rows, rules, vectors, report)
            answer = evaluating.pairs_document(seen, rules, vectors, confidence)
        else:
            seen = []
            members = read_clusters(clusters or [], names)
            vectors = _vectors(call, rules, report)
            orders = evaluating.evaluate_clusters(members, rules, vectors, report)
            answer = evaluating.clusters_document(orders, rules, vectors, confidence)
    answer["data"] = digest_of([*(pairs or []), *(clusters or [])])
    if page is not None:
        from palimpsest.cli.proof_page import evaluation_page

        write_whole(page, evaluation_page(answer, seen, rules))
    call.output.answer(
        answer, lambda: drawn(evaluation_tables(answer), evaluation_sentences(answer))
    )


@calibrate_app.command(
    epilog="Example: palimpsest calibrate --budget .005 --pairs labelled.jsonl --to mine.toml"
)
def calibrate(
    context: typer.Context,
    pairs: Pairs = None,
    from_log: Annotated[
        bool,
        typer.Option("--from-log", help="Use people's answers on pairs in the store as labels."),
    ] = False,
    budget: Annotated[
        float,
        typer.Option(
            min=0.0001,
            max=0.5,
            metavar="SHARE",
            help="The largest share of wrong joins; default .005.",
        ),
    ] = 0.005,
    different_budget: Annotated[
        float,
        typer.Option(
            min=0.0001,
            max=0.5,
            metavar="SHARE",
            help="The largest share of duplicates among pairs kept apart unasked; default .05.",
        ),
    ] = 0.05,
    confidence: Confidence = 0.95,
    policy: WhichPolicy = None,
    as_is: Annotated[
        bool,
        typer.Option("--as-is", help="Choose nothing: test the thresholds that the policy has."),
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Only pairs of this language, as `evaluate` names it."),
    ] = None,
    renames: Map = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the policy, with its certificate, to this file."),
    ] = None,
    judge_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write to this file which answers of the rows' judge may settle."
        ),
    ] = None,
    page: Page = None,
) -> None:
    """Choose thresholds from a budget of errors, on labelled pairs, and certify them.

    Half of the labels choose the thresholds, by exact tests in a fixed sequence; the other half is
    held out, and only counted afterwards. What the labels cannot support is refused (exit status
    3), and the answer says how many would be enough. With --as-is the thresholds are given, so all
    labels test them.
    """
    from palimpsest.evaluation.as_is import calibrate_as_is
    from palimpsest.evaluation.calibrate import ErrorBudget
    from palimpsest.evaluation.calibrate import calibrate as calibrated
    from palimpsest.evaluation.evaluate import language_of
    from palimpsest.evaluation.tables import (
        calibration_sentences,
        calibration_table,
        judge_refusal,
        refusal,
    )

    call = invocation(context)
    if bool(pairs) == from_log:
        raise UsageError("name --pairs or --from-log, one of the two")
    if as_is and judge_to is not None:
        raise UsageError("--as-is tests only a policy: leave out --judge-to or --as-is")
    require_page(page)
    require_targets({"--to": to, "--judge-to": judge_to})
    with call.output.progress() as report:
        if pairs:
            labels = _labels_in_files(call, pairs, policy, named_values("--map", renames))
        else:
            labels = _labels_in_store(call, policy, report)
        rows, rules = labels.pairs, labels.policy
        if language is not None:
            rows = [pair for pair in rows if language_of(pair) == language]
        vectors = _vectors(call, rules, report, labels.in_force)
        data = {"digest": labels.digest, "date": datetime.now(UTC).date().isoformat()}
        allowed = ErrorBudget(budget, different_budget, confidence)
        test = calibrate_as_is if as_is else calibrated
        answer, made = test(rows, rules, vectors, allowed, data, report)
    if page is not None:
        from palimpsest.cli.proof_page import calibration_page

        write_whole(page, calibration_page(answer))
    if made is not None and to is not None:
        from palimpsest.streams.policies.writing import write_policy

        write_whole(to, write_policy(made))
        answer["file"] = str(to)
    certificate = answer["judge_certificate"]
    if certificate is not None and judge_to is not None:
        write_whole(judge_to, orjson.dumps(certificate, option=orjson.OPT_INDENT_2) + b"\n")
        answer["judge_file"] = str(judge_to)
    table = [] if as_is else [calibration_table(answer)]
    call.output.answer(answer, lambda: drawn(table, calibration_sentences(answer)))
    asks_for_policy = to is not None or judge_to is None
    problems = [refusal(answer)] if made is None and asks_for_policy else []
    if certificate is None and judge_to is not None:
        problems.append(judge_refusal(answer))
    for problem in problems:
        call.output.problem(f"refused: {problem}")
    if problems:
        raise typer.Exit(REFUSED)


class _Labels(NamedTuple):
    """Labelled pairs, the policy to calibrate, and the policy `in_force` where the pairs are."""

    pairs: list[LabelledPair]
    digest: str
    policy: Policy
    in_force: Policy


def _labels_in_files(
    call: Invocation, paths: Sequence[Path], policy: str | None, names: dict[str, str]
) -> _Labels:
    from palimpsest.evaluation.labelled import digest_of, read_pairs

    rules = call.settings.policy_of_new_store(policy)
    return _Labels(read_pairs(paths, names), digest_of(paths), rules, rules)


def _labels_in_store(call: Invocation, policy: str | None, report: Progress) -> _Labels:
    from palimpsest.evaluation.from_log import digest_of, labels_of

    with call.store() as store:
        in_force = store.policy
        rules = in_force if policy is None else call.settings.policy_of_new_store(policy)
        pairs = labels_of(store.reader, report)
    return _Labels(pairs, digest_of(pairs), rules, in_force)


def require_page(page: Path | None) -> None:
    """UsageError if a page is wanted and cannot be written, or the extra for it is missing."""
    require_targets({"--html": page})
    if page is not None and find_spec("jinja2") is None:
        raise missing_extra("--html", "serve")


def _vectors(
    call: Invocation, policy: Policy, report: Progress, in_force: Policy | None = None
) -> TrialVectors:
    """The engine of a policy's model; `in_force` is the policy of the store with the texts.

    UsageError if either policy keeps texts local but the engine may send them elsewhere.
    """
    from palimpsest.evaluation.trial import TrialVectors
    from palimpsest.streams.embedder import require_local

    engine = call.embedder_source(report).engine_of(policy.model)
    for keeping in (policy, in_force or policy):
        require_local(engine, keeping)
    return TrialVectors(engine)


# -- on the terminal -----------------------------------------------------------------------------

MOST_ROWS = 20
"""Maximum number of rows of a table on the terminal; `--json` and `--html` give all."""


def drawn(tables: Iterable[ReportTable], sentences: Iterable[str]) -> RenderableType:
    """Tables, and their meaning in sentences."""
    return Group(*map(_table, tables), *map(rendering.shown, sentences))


def _table(table: ReportTable) -> RenderableType:
    laid_out = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD)
    for number, heading in enumerate(table.columns):
        laid_out.add_column(heading, justify="left" if number == 0 else "right")
    for row in table.rows[:MOST_ROWS]:
        laid_out.add_row(*map(rendering.shown, row))
    left = len(table.rows) - MOST_ROWS
    return Group(laid_out, rendering.shown(f"and {left:,} more")) if left > 0 else laid_out
