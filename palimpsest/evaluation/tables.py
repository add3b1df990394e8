"""The answers of `evaluate`, `calibrate` and `backtest` as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, NamedTuple

from palimpsest.contracts.counting import counted

CUTS = {
    "by_check": "By the check that joined",
    "by_cue": "By cue",
    "by_language": "By language",
    "by_source": "By source",
}
RATES = ("", "false joins", "bound", "wrong of joined", "bound", "found", "asked")
CLUSTER_RATES = (
    *("order", "memories", "wrong of joined", "bound"),
    *("pairwise P", "pairwise R", "B³ P", "B³ R", "asked"),
)
CALIBRATION = ("answer", "score", "language", "threshold", "wrong", "bound", "held out", "bound")
SHOWN = 100
"""Number of characters shown of an example's text in a table; `--json` has all of it."""


class ReportTable(NamedTuple):
    """A table; all cells are text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def evaluation_tables(answer: Mapping[str, Any]) -> list[ReportTable]:
    """The tables of `evaluate`."""
    if "total" not in answer:
        return [_clusters(answer)]
    cuts = [
        ReportTable(
            title, RATES, [[value, *_rates(counts)] for value, counts in answer[name].items()]
        )
        for name, title in CUTS.items()
        if answer[name]
    ]
    return [ReportTable("All pairs", RATES, [["all", *_rates(answer["total"])]]), *cuts]


def _rates(counts: Mapping[str, Any]) -> list[str]:
    return [
        f"{counts['false_joins']:,} of {counts['different']:,}",
        f"{counts['false_join_bound']:.2%}",
        f"{counts['false_joins']:,} of {counts['joined']:,}",
        f"{counts['wrong_bound']:.2%}",
        f"{counts['found']:,} of {counts['same']:,} ({counts['recall']:.1%})",
        f"{counts['asked_share']:.1%}",
    ]


def _clusters(answer: Mapping[str, Any]) -> ReportTable:
    rows: list[list[str]] = []
    for order in answer["orders"]:
        kinds = ("pairwise", "b_cubed")
        agreed = [order[kind][rate] for kind in kinds for rate in ("precision", "recall")]
        rates = (f"{rate:.4f}" for rate in agreed)
        rows.append(
            [
                order["order"],
                f"{order['memories']:,}",
                *_wrong(order),
                *rates,
                f"{order['asked_share']:.1%}",
            ]
        )
        for check, counts in order["by_check"].items():
            rows.append([f"by {check}", "", *_wrong(counts), *[""] * 5])
    return ReportTable("The memories compared with the clusters", CLUSTER_RATES, rows)


def _wrong(counts: Mapping[str, Any]) -> list[str]:
    return [f"{counts['false_joins']:,} of {counts['joined']:,}", f"{counts['wrong_bound']:.2%}"]


def evaluation_sentences(answer: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about what the tables of `evaluate` leave out."""
    sure = f"{answer['confidence']:.0%}"
    if "total" in answer:
        total = answer["total"]
        yield (
            f"Of {counted(total['different'], 'pair')} that must not be joined,"
            f" {total['false_joins']:,} {'was' if total['false_joins'] == 1 else 'were'} joined:"
            f" at most {total['false_join_bound']:.2%} of such pairs, at {sure} confidence."
        )
        yield (
            "Bounds are one-sided and exact, for independent pairs of this mix:"
            f" {counted(answer['pairs'], 'pair')} in {counted(answer['groups'], 'group')} without a"
            " common text."
        )
        yield (
            f"Not counted: {counted(answer['exact'], 'exact repeat')}"
            f" ({answer['exact_different']:,} labelled different) and"
            f" {counted(answer['related'], 'related pair')} ({answer['related_joined']:,} joined)."
            " The order of arrival decides on"
            f" {counted(answer['order_matters'], 'pair')}; the worse order counts."
        )
    else:
        yield (
            f"{counted(answer['texts'], 'text')} of {counted(answer['owners'], 'owner')} in"
            f" {counted(answer['clusters'], 'cluster')}; bounds at {sure} confidence, for"
            " independent joins."
        )
    yield (
        f"Policy {answer['policy']} ({answer['policy_hash']}), embedder {answer['embedder']}, guard"
        f" {answer['guard']}, labels {answer['data'][:23]}."
    )


# -- calibrate -----------------------------------------------------------------------------------


def calibration_table(answer: Mapping[str, Any]) -> ReportTable:
    """One row for each score, answer and language."""
    rows = [_calibrated(threshold) for threshold in answer["thresholds"]]
    return ReportTable("Thresholds, each on its own", CALIBRATION, rows)


def _calibrated(threshold: Mapping[str, Any]) -> list[str]:
    held_out = threshold.get("held_out")
    return [
        threshold["answer"],
        threshold["score"],
        threshold["language"],
        _threshold(threshold),
        f"{threshold['errors']:,} of {threshold['taken']:,}",
        f"{threshold['bound']:.2%}",
        f"{held_out['errors']:,} of {held_out['taken']:,}" if held_out else "",
        f"{held_out['bound']:.2%}" if held_out else "",
    ]


def _threshold(threshold: Mapping[str, Any]) -> str:
    if not threshold["certified"]:
        would_do = threshold["labels_that_would_do"]
        return "refused" if would_do is None else f"refused; {counted(would_do, 'label')} would do"
    if "cues" in threshold:
        return ", ".join(threshold["cues"])
    return f"{'from' if threshold['answer'] == 'same' else 'under'} {threshold['threshold']:g}"


def calibration_sentences(answer: Mapping[str, Any]) -> Iterator[str]:
    """What is claimed, of what, and what became of the policy as a whole."""
    labels, sure, as_is = answer["labels"], f"{answer['confidence']:.0%}", "as_is" in answer
    yield f"Same: at most {answer['budget']:.2%} is {answer['risk']['same']}."
    if as_is:
        yield (
            f"{answer['limit']} {counted(labels['pairs'], 'label')}; of pairs that share a text,"
            f" one counts: {labels['tested']:,} in all. They were not used to choose anything, so"
            " none is held out."
        )
    else:
        yield (
            f"Different: at most {answer['different_budget']:.2%} is {answer['risk']['different']}."
        )
        yield f"{answer['limit']} Each line of the table stands on its own, at {sure}."
        yield (
            f"{counted(labels['pairs'], 'label')}; of pairs that share a text, one counts:"
            f" {labels['tested']:,} to choose the thresholds, {labels['held_out']:,} held out until"
            " then."
        )
    certificate, at = answer["certificate"], answer["policy_test"]
    if certificate is None:
        yield f"The policy is refused: {refusal(answer)}."
        return
    limits = [f"{name} {at[name]:g}" for name in ("jaccard", "cosine") if at[name] is not None]
    wrong = f"{certificate['wrong']:,} of {counted(certificate['joined'], 'join')} were wrong"
    if as_is:
        yield (
            f"The policy as it is joins from {' and '.join(limits)} on. With each pair decided on"
            f" in both orders, {wrong}: at most {at['bound']:.2%}, at {sure}."
        )
        return
    yield (
        f"The policy joins from {' and '.join(limits)} on: {wrong} in the half that chose this. In"
        " the held-out half, with each pair decided on in both orders, it joined"
        f" {certificate['held_out_joined']:,}, {certificate['held_out_wrong']:,} of them wrongly:"
        f" at most {certificate['held_out_bound']:.2%}."
    )


def refusal(answer: Mapping[str, Any]) -> str:
    """Why the labels support no policy, and how many labels would."""
    test = answer["policy_test"]
    if not test["taken"]:
        return "none of the labelled pairs could be joined by it"
    errors = f"{test['errors']:,} {'is' if test['errors'] == 1 else 'are'}"
    seen = f"of {counted(test['taken'], 'pair')} that it would join, {errors} wrong"
    what = f"the labels do not support {answer['budget']:.2%} at {answer['confidence']:.0%}: {seen}"
    would_do = test["labels_that_would_do"]
    if would_do is None:
        return f"{what}; more labels of the same mix would not help"
    return f"{what}; {counted(would_do, 'label')} of the same mix would do"


def judge_refusal(answer: Mapping[str, Any]) -> str:
    """Why no answer of a first judge is certified, and how many labels would do."""
    found = [one for one in answer["thresholds"] if one["score"] == "verdict"]
    if not found:
        return (
            "no pair that the policy would ask about has the answer, probability, model and prompt"
            " of a judge: `palimpsest judge pairs` adds them to labelled pairs"
        )
    seen = [
        f"{one['errors']:,} of {one['taken']:,} wrong among *{one['answer']}*"
        + (f" ({counted(n, 'label')} would do)" if (n := one["labels_that_would_do"]) else "")
        for one in found
        if one["language"] == "all"
    ]
    return f"the labels support no threshold of the judge's answers: {'; '.join(seen)}"


def backtest_sentences(answer: Mapping[str, Any]) -> Iterator[str]:
    """What `backtest` found, in words."""
    yield (
        f"Under {answer['policy']} ({answer['hash']}) {answer['changed']:,} of"
        f" {answer['candidates']:,} decisions about {counted(answer['owners'], 'owner')} would"
        " be different. Nothing was written."
    )
    yield (
        f"Memories: {answer['memories']:,} now, {answer['would_be_memories']:,} under it."
        f" {answer['split']:,} would be split, {answer['united']:,} would be united from"
        f" several, and {answer['faces']:,} would show another text."
    )
    asked = ""
    if answer["unanswered"]:
        cost = "at an unknown cost"
        if answer["cost_usd"] is not None:
            cost = f"for about ${answer['cost_usd']:,.2f}"
        asked = f" {answer['unanswered']:,} of those would have to be asked, {cost}."
    yield (
        f"Questions for the judge: {answer['questions']:,} now,"
        f" {answer['would_be_questions']:,} under it.{asked}"
    )
    if answer["overtaken"]:
        yield f"No longer possible: {counted(answer['overtaken'], 'event')} of people or runs."
    if (audited := answer["audited"]) is not None:
        new = "no number of labels would certify as much"
        if (needed := audited["labels_needed"]) is not None:
            new = (
                f"about {counted(needed, 'new label')} without an error, besides the probes, would"
                " certify as much"
            )
        yield (
            f"Of {counted(audited['joins'], 'certified join')}, {audited['still']:,} would be made"
            f" as before; {counted(audited['others'], 'uncertified join')} would be made."
            f" {audited['labels_kept']:,} of {counted(audited['labels'], 'label')} would count"
            f" again: {new}."
        )
    if answer["certificate"]:
        yield f"{answer['certificate'][:1].upper()}{answer['certificate'][1:]}."


def backtest_tables(answer: Mapping[str, Any]) -> list[ReportTable]:
    """The changes of decisions with an example each, and examples of memories that change."""
    changes = [
        [change["was"], change["would_be"], f"{change['count']:,}", *_example(change)]
        for change in answer["changes"]
    ]
    columns = ("was", "would be", "count", "for example", "joined", "would join")
    found = [ReportTable("Decisions that would be different", columns, changes)] if changes else []
    for title, name in (("would be several", "splits"), ("would be one", "unions")):
        rows = [
            [str(number), _shortened(" / ".join(texts))]
            for number, example in enumerate(answer[name], 1)
            for texts in example["memories"]
        ]
        if rows:
            found.append(
                ReportTable(f"Memories that {title}: examples", ("", "the texts of each"), rows)
            )
    return found


def _example(change: Mapping[str, Any]) -> tuple[str, ...]:
    example = change["examples"][0]
    texts = example["text"], example["joined"] or "", example["would_join"] or ""
    return tuple(map(_shortened, texts))


def _shortened(text: str) -> str:
    return shorten(text, SHOWN, placeholder=" …")
