"""Taking statements back: `withdraw`, and `reinstate` with all effects of a reversal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.palimpsest.cli.conftest import CommandLine, row

FIRST = "every winter evening since the move two cats sleep near our old kitchen stove until dawn"
NEWER = FIRST.replace("dawn", "noon")
BESIDE = FIRST.replace("every", "each")
"""Near the first text, but not near the newer one."""
RESTING = """
name = "resting"
model = "all-MiniLM-L6-v2"
search = "memories"

[[checks]]
check = "cosine"
zones = [{ at_least = 0.93, action = "superseded" }]
"""
"""A policy under which later decisions depend on earlier merges, without a judge."""


def faces(palimpsest: CommandLine) -> list[str]:
    return sorted(one["face"] for one in palimpsest.json("sql", "SELECT face FROM memories"))


def test_what_a_person_separated_over_a_joined_third_can_be_taken_back(
    palimpsest: CommandLine,
) -> None:
    palimpsest.holds(row("Ada moved to Paris"), row("tea at five"), row("no stairs"))
    a, b, c = palimpsest.ids()
    palimpsest.json("merge", b, c)
    for other in (b, c):
        palimpsest.json("separate", a, other)
    refused = palimpsest("merge", a, b)
    assert refused.status == 3
    assert f"{a} and {c}, through" in " ".join(refused.err.split())
    assert palimpsest("merge", a, c).status == 3
    drawn = palimpsest("withdraw", a[:8], c[:8], "--because", "one flat after all")
    assert drawn.status == 0
    assert drawn.out.startswith("withdrawn")
    assert len(palimpsest.json("withdraw", a, b)["memories"]) == 2
    assert palimpsest.json("merge", a, b)["memories"][0]["face"] == "Ada moved to Paris"
    assert palimpsest.json("status")["memories"] == 1
    assert palimpsest.json("verify")["differences"] == 0


def test_who_withdrew_and_why_is_in_the_tables(palimpsest: CommandLine) -> None:
    palimpsest.holds(row("Ada moved to Paris"), row("tea at five"))
    a, b = palimpsest.ids()
    palimpsest.json("separate", a, b)
    palimpsest.json("withdraw", a, b, "--because", "one flat after all")
    [told] = palimpsest.json(
        "sql",
        "SELECT e.because, e.rank, s.candidate_id FROM events e"
        " JOIN separations s ON e.answers = s.event_id WHERE e.event = 'reversed'",
    )
    assert told == {"because": "one flat after all", "rank": "person", "candidate_id": b}


def test_what_nobody_separated_is_not_withdrawn(palimpsest: CommandLine) -> None:
    palimpsest.holds(row("Ada moved to Paris"), row("tea at five"))
    a, b = palimpsest.ids()
    refused = palimpsest.json("withdraw", a, b, status=3)
    assert refused["error"]["reason"] == "not_separated"


@pytest.fixture(name="joined")
def joined_fixture(palimpsest: CommandLine) -> str:
    """A join on which a later decision depends."""
    file = palimpsest.folder / "policy.toml"
    file.write_text(RESTING)
    palimpsest.json("policy", "set", str(file))
    palimpsest.ingest(*map(row, (FIRST, NEWER, BESIDE)))
    newer = palimpsest.ids()[1]
    return str(palimpsest.json("show", "--candidate", newer)["joins"][0]["decision_id"])


def test_consequences_are_reported_as_what_would_be_until_they_are(
    palimpsest: CommandLine, joined: str
) -> None:
    asked_for = ("unmerge", joined, "--with-consequences")
    assert "would be carried out:" in palimpsest(*asked_for, "--dry-run").out
    assert "\ncarried out:" in palimpsest(*asked_for).out
    beside = palimpsest.ids()[2]
    drawn = " ".join(palimpsest("show", beside).out.split())
    assert f"as a consequence of {joined}" in drawn


@pytest.fixture(name="apart")
def apart_fixture(palimpsest: CommandLine, joined: str) -> tuple[str, dict[str, Any]]:
    """A join that was removed with a consequence, and the answer of the un-merge."""
    gone = palimpsest.json("unmerge", joined, "--with-consequences")
    assert len(gone["carried_out"]) == 1
    assert faces(palimpsest) == sorted([BESIDE, NEWER])
    return joined, gone


def test_a_dry_run_of_a_reinstatement_draws_what_it_would_bring(
    palimpsest: CommandLine, apart: tuple[str, dict[str, Any]]
) -> None:
    joined, gone = apart
    [made] = gone["carried_out"]
    drawn = palimpsest("reinstate", joined, "--dry-run")
    assert f"would be reinstated: {joined}" in drawn.out
    assert f"would be taken back: {made} (made because of the reversal)" in drawn.out
    assert faces(palimpsest) == sorted([BESIDE, NEWER])
    shown = palimpsest.json("reinstate", joined, "--dry-run")
    done = palimpsest.json("reinstate", joined)
    assert done == {**shown, "events": done["events"], "undo": done["undo"]}
    assert done["undo"] in done["events"]
    assert (done["reinstated"], done["taken_back"], done["refused"]) == ([joined], [made], [])
    assert faces(palimpsest) == sorted([BESIDE, NEWER])
    first, newer, beside = palimpsest.ids()
    members = palimpsest.json("show", first)["members"]
    assert [member["candidate_id"] for member in members] == [first, newer]
    assert len(palimpsest.json("show", beside)["members"]) == 1


def test_a_reinstatement_says_which_confirmed_joins_it_takes_back(
    palimpsest: CommandLine, apart: tuple[str, dict[str, Any]]
) -> None:
    joined, gone = apart
    [made] = gone["carried_out"]
    palimpsest.json("confirm", made)
    shown = f"taken back: {made} (made because of the reversal, and confirmed by a review)"
    assert shown in palimpsest("reinstate", joined, "--dry-run").out
    done = palimpsest.json("reinstate", joined)
    assert (done["taken_back"], done["confirmed"]) == ([made], [made])


def test_later_words_of_a_person_prevent_what_they_contradict(
    palimpsest: CommandLine, apart: tuple[str, dict[str, Any]]
) -> None:
    joined, gone = apart
    [made] = gone["carried_out"]
    first, _, beside = palimpsest.ids()
    palimpsest.json("merge", first, beside)
    refused = palimpsest.json("reinstate", joined, "--dry-run")["refused"]
    assert (made, "outranked") in [(one["decision_id"], one["reason"]) for one in refused]
    drawn = palimpsest("reinstate", joined).out
    assert f"reinstated: {joined}" in drawn
    assert f"refused: {made}: a person said that the two are the same" in " ".join(drawn.split())
    assert len(faces(palimpsest)) == 1
