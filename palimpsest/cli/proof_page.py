"""The answers of `evaluate`, `calibrate` and `backtest` as one HTML page, which fetches nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from palimpsest.charts.charts import Chart, ChartColumn, bin_of, histogram, stacked
from palimpsest.cli.pictures import compared
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.evaluate import MOST_SHOWN, Seen
from palimpsest.evaluation.tables import (
    CUTS,
    backtest_sentences,
    backtest_tables,
    calibration_sentences,
    calibration_table,
    evaluation_sentences,
    evaluation_tables,
)
from palimpsest.streams.policies.explain import explain
from palimpsest.web.rendering import render

TEMPLATE = "proof.html"
KINDS = (
    "different, joined",
    "different, asked",
    "different, kept",
    "the same, joined",
    "the same, asked",
    "the same, kept",
)
"""The outcomes of labelled pairs, worst first; the style sheet has a colour for each."""


def evaluation_page(answer: Mapping[str, Any], seen: Sequence[Seen], policy: Policy) -> str:
    """The page of `evaluate`; `seen` are the pairs, and empty for clusters."""
    pairs = "total" in answer
    counted = [
        result for result in seen if result.fate != "exact" and result.pair.label != "related"
    ]
    return render(
        TEMPLATE,
        title=f"How many joins of {answer['policy']} are wrong",
        sentences=[*evaluation_sentences(answer), *explain(policy)],
        charts=_pair_charts(answer, counted) if pairs else _cluster_charts(answer),
        tables=evaluation_tables(answer),
        wrong=[result.pair for result in counted if result.wrong][:MOST_SHOWN],
    )


def _pair_charts(answer: Mapping[str, Any], seen: Sequence[Seen]) -> list[Chart]:
    bars: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for result in seen:
        if result.cosine is not None:
            label = "the same" if result.pair.label == "same" else "different"
            bars[bin_of(result.cosine)][f"{label}, {result.fate}"] += 1
    title = "Cosine of the pairs that were compared, and what became of them"
    return [
        histogram("cosine", title, bars, KINDS, ()),
        *(
            stacked(
                name,
                title,
                [_column(value, counts) for value, counts in answer[name].items()],
                KINDS,
            )
            for name, title in CUTS.items()
            if len(answer[name]) > 1
        ),
    ]


def _column(name: str, counts: Mapping[str, Any]) -> ChartColumn:
    same, different = counts["same"], counts["different"]
    return ChartColumn(
        name,
        {
            "different, joined": counts["false_joins"],
            "different, asked": counts["different_asked"],
            "different, kept": different - counts["false_joins"] - counts["different_asked"],
            "the same, joined": counts["found"],
            "the same, asked": counts["same_asked"],
            "the same, kept": same - counts["found"] - counts["same_asked"],
        },
    )


def _cluster_charts(answer: Mapping[str, Any]) -> list[Chart]:
    kinds = ("wrong", "right")
    return [
        stacked(
            f"order-{number}",
            f"Joins by check, texts {order['order']}",
            [
                ChartColumn(
                    check,
                    {
                        "wrong": counts["false_joins"],
                        "right": counts["joined"] - counts["false_joins"],
                    },
                )
                for check, counts in order["by_check"].items()
            ],
            kinds,
        )
        for number, order in enumerate(answer["orders"])
    ]


# -- calibrate -----------------------------------------------------------------------------------


def calibration_page(answer: Mapping[str, Any]) -> str:
    """The page of `calibrate`."""
    whole = answer["policy_test"] | {"answer": "same", "score": "policy", "language": "all"}
    tests = [whole, *answer["thresholds"]]
    return render(
        TEMPLATE,
        title=f"Thresholds of {answer['policy']} for a budget of {answer['budget']:.2%}",
        sentences=[*calibration_sentences(answer), f"Labels {answer['data']}, {answer['date']}."],
        charts=[_curve(n, test) for n, test in enumerate(tests) if test["steps"]],
        tables=[calibration_table(answer)] if answer["thresholds"] else [],
        wrong=[],
    )


def _curve(number: int, test: Mapping[str, Any]) -> Chart:
    """The pairs that each tested threshold takes, wrong ones at the bottom."""
    columns = [
        ChartColumn(
            f"{threshold if test['answer'] == 'same' else 1 - threshold:.3f}",
            {"wrong": errors, "right": taken - errors},
        )
        for threshold, taken, errors, _ in test["steps"]
    ]
    title = f"{test['answer']} by {test['score']}, language {test['language']}: pairs by threshold"
    return stacked(f"curve-{number}", title, columns, ("wrong", "right"))


# -- backtest ------------------------------------------------------------------------------------

MOST_BARS = 12
"""Maximum number of changes in the chart; the table has all."""


def backtest_page(answer: Mapping[str, Any]) -> str:
    """The page of `backtest`."""
    bars = [
        ChartColumn(f"{change['was']} → {change['would_be']}", {"decisions": change["count"]})
        for change in answer["changes"][:MOST_BARS]
    ]
    title = "Decisions that would be different"
    return render(
        TEMPLATE,
        title=f"This history under {answer['policy']}",
        sentences=[*backtest_sentences(answer)],
        charts=[stacked("changes", title, bars, ("decisions",))] if bars else [],
        tables=backtest_tables(answer),
        wrong=[],
        differences=[
            (f"{change['was']} → {change['would_be']}", map(_difference, change["examples"]))
            for change in answer["changes"]
        ],
    )


class ComparedExample(NamedTuple):
    """A candidate of an owner, beside the texts that it joined and would join, as HTML."""

    owner: str
    text: str
    pairs: list[tuple[str, tuple[str, str]]]


def _difference(example: Mapping[str, Any]) -> ComparedExample:
    ways = (("joined", example["joined"]), ("would join", example["would_join"]))
    pairs = [(way, compared(other, example["text"])) for way, other in ways if other is not None]
    return ComparedExample(example["owner_id"], example["text"], pairs)
