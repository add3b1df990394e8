"""What other systems' published rules do with pairs, and that their table counts it."""

from __future__ import annotations

import pytest
from rich.console import Console

from bench.peers import PEERS, Row, as_table, at_least, by_shingles, count
from palimpsest.evaluation.labelled import Label, LabelledPair
from palimpsest.evaluation.trial import Fate


def pair(one: str, other: str, label: Label = "same") -> LabelledPair:
    return LabelledPair("1", one, other, label)


@pytest.mark.parametrize(
    ("one", "other", "fate"),
    [
        ("Ada Lovelace of London", "ada lovelace, of London.", "joined"),
        ("Ada Lovelace of London", "Ada Lovelace of Leeds", "kept"),
        ("Ada", "Ada!", "kept"),
        ("aaaaaaa a", "aaaaaaa a.", "kept"),
        ("", "", "kept"),
        ("日本語の名前", "日本語の名前。", "kept"),
    ],
)
def test_names_are_compared_by_trigrams_unless_they_say_too_little(
    one: str, other: str, fate: Fate
) -> None:
    assert by_shingles(pair(one, other), 0.0) == fate


def test_a_threshold_holds_from_its_value_on() -> None:
    rule = at_least(0.9, "asked")
    assert [rule(pair("a", "b"), score) for score in (0.89, 0.9, 1.0)] == ["kept", "asked", "asked"]


def test_the_table_counts_false_joins_and_questions_apart() -> None:
    fates: list[tuple[LabelledPair, Fate]] = [
        (pair("a", "b"), "joined"),
        (pair("a", "c"), "asked"),
        (pair("a", "d", "different"), "joined"),
        (pair("a", "e", "different"), "asked"),
        (pair("a", "f", "different"), "kept"),
    ]
    console = Console(width=160, record=True)
    console.print(as_table([Row("ours", "here", count(fates))]))
    line = next(line for line in console.export_text().splitlines() if "ours" in line)
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells == ["ours", "1 of 3", "86.46%", "50.0%", "50.0%", "1", "1"]


def test_each_rule_names_its_source_with_a_version() -> None:
    assert all(any(letter.isdigit() for letter in rule.source) for rule in PEERS)
