"""`audit` at the command line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.palimpsest.cli.conftest import CommandLine, Row

NAMES = ("red mill", "old barn", "long pier", "tall mast", "wide moor", "dark hall", "calm bay")


@pytest.fixture(name="joined")
def _joined(palimpsest: CommandLine, row: Row) -> CommandLine:
    """Seven joins by a rule."""
    texts = [f"Ada keeps the key of the {name} in her blue coat" for name in NAMES]
    palimpsest.holds(*(row(form) for text in texts for form in (text, f"{text}.")))
    return palimpsest


def test_open_label_and_certify(joined: CommandLine) -> None:
    opened = joined.json("audit", "open", "--target", ".3", "--probes", "0")
    assert (opened["joins"], opened["labels"], opened["bound"]) == (7, 0, 1.0)
    one, two = opened["labels_after_errors"]
    assert opened["labels_needed"] < one < two
    assert f"with one further error {one}; with two {two}" in joined("audit", "status").out
    early = joined("audit", "certify")
    assert early.status == 3
    assert f"{opened['labels_needed']} more labels" in early.err
    for number in range(opened["labels_needed"]):
        question = joined.json("audit", "next")
        assert question["number"] == number + 1
        assert question["newer"] == f"{question['older']}."
        done = joined.json("audit", "label", question["pair"], "right")
        assert done["unmerged"] is None
    assert joined.json("audit", "status")["certified"]
    certified = joined("audit", "certify")
    assert certified.status == 0
    assert "certified" in certified.out
    assert joined.json("audit", "status")["certificates"] == 1


def test_a_dry_run_says_how_many_labels_it_would_take(joined: CommandLine) -> None:
    shown = joined("audit", "open", "--target", ".3", "--probes", "0", "--dry-run").out
    assert re.search(r"30\.00% +\d \(\d\) +\d \(\d\)", shown)
    assert "7 automatic joins" in shown
    assert joined("audit", "next").status != 0, "nothing was sealed"
    foreseen = joined.json("audit", "open", "--target", ".3", "--probes", "0", "--dry-run")
    needed = joined.json("audit", "open", "--target", ".3", "--probes", "0")["labels_needed"]
    cells = {(cell["target"], cell["wrong"]): cell["labels"] for cell in foreseen["foreseen"]}
    assert cells[0.3, 0.0] == needed


def test_next_shows_the_question_and_never_the_verdict(joined: CommandLine) -> None:
    joined.json("audit", "open", "--target", ".3")
    shown = joined("audit", "next")
    assert "older: Ada keeps the key" in shown.out
    assert "Does the newer one say anything that the older one lacks or denies?" in shown.out
    assert not re.search(r"token_reject|0\.\d\d|similar", shown.out + shown.err)
    assert "palimpsest audit label" in shown.err


def test_a_wrong_join_is_unmerged_and_undo_joins_it_again(joined: CommandLine) -> None:
    joined.json("audit", "open", "--target", ".3", "--probes", "0")
    memories = joined.json("status")["memories"]
    pair = joined.json("audit", "next")["pair"]
    told = joined("audit", "label", pair, "wrong", "--because", "another key")
    [reversal] = re.findall(r"palimpsest undo (\S+)", told.out)
    assert joined.json("status")["memories"] == memories + 1
    joined.json("undo", reversal)
    assert joined.json("status")["memories"] == memories
    shown = joined("audit", "status").out
    assert f"found wrong, but still joined: {pair}" in shown
    assert joined.json("audit", "label", pair, "right")["status"]["errors"] == 0


def test_labels_by_keys(joined: CommandLine) -> None:
    joined.json("audit", "open", "--target", ".3", "--probes", "0")
    ran = joined("audit", "label", stdin="r\nx\nw\nu\nq\nr\n")
    assert ran.status == 0
    assert ran.err.count("older: ") == 4
    assert "pair 4" in ran.err
    assert len(re.findall(r"to take that back: palimpsest undo", ran.err)) == 1
    status = joined.json("audit", "status")
    assert (status["labels"], status["errors"]) == (3, 2)
    ended = joined("audit", "label", stdin="r\n")
    assert ended.status == 0
    assert joined.json("audit", "status")["labels"] == 4


def test_check_is_for_a_build(joined: CommandLine) -> None:
    nothing = joined("audit", "check")
    assert nothing.status == 1
    assert "nothing is certified" in nothing.err
    joined.json("audit", "open", "--target", ".3", "--probes", "0")
    joined("audit", "label", stdin="r\n" * 7)
    joined.json("audit", "certify")
    good = joined.json("audit", "check", "--max", ".3", "--max-members", "2")
    assert (good["holds"], good["covered"], good["since"], good["void"]) == (True, 7, 0, 0)
    low = joined.json("audit", "check", "--max", ".0001", status=0)
    assert low["holds"]
    large = joined("audit", "check", "--max", ".3", "--max-members", "1")
    assert large.status == 1
    assert "has 2 members, over 1" in large.err


def test_a_certificate_is_void_for_joins_by_another_policy(joined: CommandLine, row: Row) -> None:
    joined.json("audit", "open", "--target", ".3", "--probes", "0")
    joined("audit", "label", stdin="r\n" * 7)
    joined.json("audit", "certify")
    text = "Ada keeps the key of the deep well in her blue coat"
    joined.ingest(row(text), row(f"{text}."))
    later = joined.json("audit", "check", "--max", ".3")
    assert (later["covered"], later["since"], later["void"]) == (7, 1, 0)
    file = joined.folder / "mine.toml"
    rules = joined("policy", "show", "standard").out
    file.write_text(rules.replace('name = "standard"', 'name = "mine"'), encoding="utf-8")
    joined.json("policy", "set", str(file))
    changed = joined("audit", "check", "--max", ".3")
    assert changed.status == 1
    assert "void for what is joined by the policy sha256:" in changed.err
    text = "Ada keeps the key of the high gate in her blue coat"
    joined.ingest(row(text), row(f"{text}."))
    assert joined.json("audit", "check", "--max", ".3", status=1)["void"] == 1


def test_an_audit_after_a_change_of_policy_covers_the_joins_of_before(
    joined: CommandLine, row: Row
) -> None:
    """Under the new policy nothing is joined yet, so no certificate could name it."""
    file = joined.folder / "mine.toml"
    rules = joined("policy", "show", "standard").out
    file.write_text(rules.replace('name = "standard"', 'name = "mine"'), encoding="utf-8")
    joined.json("policy", "set", str(file))
    joined.json("audit", "open", "--target", ".3", "--probes", "0")
    joined("audit", "label", stdin="r\n" * 7)
    joined.json("audit", "certify")
    anew = joined.json("audit", "check", "--max", ".3")
    assert (anew["holds"], anew["covered"], anew["void"]) == (True, 7, 0)
    text = "Ada keeps the key of the high gate in her blue coat"
    joined.ingest(row(text), row(f"{text}."))
    assert joined.json("audit", "check", "--max", ".3", status=1)["void"] == 1


def test_check_says_how_many_joins_the_audit_was_not_about(joined: CommandLine, row: Row) -> None:
    text = "Bob keeps the key of the high gate in his red coat"
    joined.ingest(row(text, "bob"), row(f"{text}.", "bob"))
    joined.json("audit", "open", "--target", ".6", "--probes", "0", "--owner", "b*")
    joined("audit", "label", stdin="r\n")
    joined.json("audit", "certify")
    found = joined.json("audit", "check", "--max", ".6")
    assert (found["covered"], found["outside"]) == (1, 7)
    told = joined("audit", "check", "--max", ".6").out
    assert "outside of what the audit was about: 7 joins" in told


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("open", "--target", "2"), 2, "a target of 2"),
        (("open", "--confidence", ".4"), 2, "a confidence of 0.4"),
        (("open", "--seed", "4 2 6"), 2, "throw the dice"),
        (("open", "--at", "9999"), 2, "not a position"),
        (("open", "--owner", "nobody*"), 2, "no automatic join of owners like 'nobody*' stands"),
        (("open", "--since", "2099-01-01"), 2, "from 2099-01-01T00:00:00+00:00 on"),
        (("check", "--max", "1"), 2, "at least 0 and below 1"),
        (("check", "--max", "-.1"), 2, "at least 0 and below 1"),
        (("check", "--max-members", "0"), 2, "1 or more"),
        (("label", "5d1c7a52", "same"), 2, "right, wrong or unsure"),
        (("status",), 3, "no audit was opened"),
        (("next",), 3, "no audit was opened"),
    ],
)
def test_what_cannot_be_is_said(
    joined: CommandLine, arguments: tuple[str, ...], status: int, said: str
) -> None:
    ran = joined("audit", *arguments)
    assert (ran.status, said in ran.err) == (status, True), ran.err


def test_with_json_a_pair_has_to_be_named(joined: CommandLine) -> None:
    joined.json("audit", "open")
    assert joined("--json", "audit", "label").status == 2


def test_labels_are_no_text_of_memories_in_the_log(joined: CommandLine) -> None:
    joined.json("audit", "open", "--target", ".3")
    joined("audit", "label", stdin="r\n" * 7)
    events: list[dict[str, Any]] = joined.json(
        "sql", "SELECT event, decided_at FROM events WHERE event LIKE 'audit%'"
    )
    assert {event["event"] for event in events} == {"audit_opened", "audit_labelled"}


def test_missed_duplicates_are_estimated_with_the_same_commands(
    joined: CommandLine, row: Row
) -> None:
    others = ("Grandmother has bees", "The harbour freezes in winter", "Bo paints doors")
    joined.ingest(*map(row, others))
    opened = joined.json("audit", "recall", "--labels", "10")
    assert (opened["labels"], opened["joins"]) == (0, 7)
    shown = joined("audit", "next").out
    assert "They are in two memories. Do they say the same?" in shown
    question = joined.json("audit", "next")
    done = joined.json("audit", "label", question["pair"], "wrong")
    assert done["status"]["found"] == [question["ids"]]
    told = joined("audit", "label", stdin="r\n" * 20)
    assert "an estimate, not a certificate" in told.out
    assert f"palimpsest merge {' '.join(question['ids'])}" in told.out
    status = joined.json("audit", "status")
    assert status["labels"] == status["planned"] <= 10
    joined.json("merge", *question["ids"])
    assert joined("audit", "certify").status == 3
