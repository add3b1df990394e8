"""Past states: `status`, `recall`, `show` and `decisions` as of a position or a time."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requests import SettleRequest
from tests.palimpsest.cli.conftest import CommandLine, Row

HEARD = ("recall", "ada", "She keeps a kettle.", "-k", "1")
COUNTED = tuple(
    "candidates memories joins folded pending unembedded invalid decisions position".split()
)
NEAR = ("Ada paints wooden boats in the shed", "Ada paints boats in the shed")
"""The judge is asked whether the second repeats the first."""


@pytest.fixture
def merged_and_reinstated(palimpsest: CommandLine, row: Row) -> tuple[CommandLine, list[str], str]:
    """A join by a person, taken back and reinstated: positions 4, 5 and 6 after the policy's."""

    def write() -> tuple[list[str], str]:
        palimpsest.ingest(row("She keeps a kettle."), row("A violin rests here."))
        a, b = palimpsest.ids()
        joined = palimpsest.json("merge", a, b, "--because", "one thing")["decision_id"]
        palimpsest.json("unmerge", "--decision", joined, "--because", "two things")
        palimpsest.json("reinstate", joined)
        return [a, b], joined

    return palimpsest, *palimpsest.begins("told", write)


def test_status_as_of_each_position_is_what_it_was_then(palimpsest: CommandLine, row: Row) -> None:
    steps: list[tuple[str, ...]] = []
    texts = ("She keeps a kettle.", "A violin rests here.", "She keeps a kettle", NEAR[0], NEAR[1])
    for number, text in enumerate(texts):
        steps.append(("ingest", palimpsest.file([row(text)], f"{number}.jsonl")))
    said: list[dict[str, Any]] = []
    for step in steps:
        palimpsest.json(*step)
        said.append(palimpsest.json("status"))
    assert [one["pending"] for one in said] == [0, 0, 0, 0, 1]
    assert said[-1]["judge"]["waiting"] == 1
    a, b, *_, waits = palimpsest.ids()
    joined = palimpsest.json("merge", a, b)["decision_id"]
    said.append(palimpsest.json("status"))
    palimpsest.json("unmerge", "--decision", joined)
    palimpsest.json("retract", "--candidate", b)
    said.append(palimpsest.json("status"))
    palimpsest.json("retract", "--candidate", waits)
    said.append(palimpsest.json("status"))
    assert [one["pending"] for one in said[-2:]] == [1, 0], "whoever is retracted waits for nobody"
    palimpsest.json("restore", "--candidate", b)
    for then in said:
        now = palimpsest.json("status", "--as-of", str(then["position"]))
        assert {name: now[name] for name in COUNTED} == {name: then[name] for name in COUNTED}
        assert now["judge"] == then["judge"]
        assert now["policy"] == then["policy"]
    assert palimpsest.json("status", "--as-of", "0")["candidates"] == 0


def test_a_text_to_compose_was_waited_for(palimpsest: CommandLine, row: Row) -> None:
    palimpsest.ingest(row("A violin rests here."), row(NEAR[0]))
    a, b = palimpsest.ids()
    joined = palimpsest.json("merge", a, b)["decision_id"]
    palimpsest.ingest(row(NEAR[1]))
    c = palimpsest.ids()[-1]
    said = [palimpsest.json("status")]
    verdict = Verdict(neighbour_id=b, answer="compose")
    with Palimpsest.open(palimpsest.store) as store:
        store.settle(
            [
                SettleRequest(
                    request_id=str(uuid4()), candidate_id=c, verdicts=(verdict,), composed="Both."
                )
            ]
        )
    said.append(palimpsest.json("status"))
    palimpsest.json("unmerge", "--decision", joined)
    said.append(palimpsest.json("status"))
    assert [one["judge"]["waiting"] for one in said] == [1, 0, 1]
    for then in said:
        now = palimpsest.json("status", "--as-of", str(then["position"]))
        assert now["judge"]["waiting"] == then["judge"]["waiting"]


def test_show_as_of(merged_and_reinstated: tuple[CommandLine, list[str], str]) -> None:
    palimpsest, [a, b], joined = merged_and_reinstated
    members = {}
    for position in (3, 4, 5, 6):
        shown = palimpsest.json("show", b, "--as-of", str(position))
        members[position] = [member["candidate_id"] for member in shown["members"]]
    assert members == {3: [b], 4: [a, b], 5: [b], 6: [a, b]}
    assert palimpsest("show", b, "--as-of", "2").status == 3
    candidate = palimpsest.json("show", "--candidate", b, "--as-of", "4")
    assert [join["decision_id"] for join in candidate["joins"]] == [joined]


def test_decisions_as_of(merged_and_reinstated: tuple[CommandLine, list[str], str]) -> None:
    palimpsest, [a, _], _ = merged_and_reinstated
    said = {}
    for position in (3, 4, 5, 6):
        rows = palimpsest("--json", "decisions", "--as-of", str(position)).documents
        said[position] = [(r["memory_id"] == a, r["standing"], r["review_status"]) for r in rows][
            1:
        ]
    apart, stored = (False, None, "unreviewed"), (True, None, "unreviewed")
    assert said == {
        3: [apart],
        4: [stored, (True, True, "unreviewed")],
        5: [apart, (False, False, "reversed")],
        6: [stored, (True, True, "reinstated")],
    }
    assert palimpsest("--json", "decisions", "--as-of", "0").documents == []


def test_a_time_is_the_last_event_at_or_before_it(
    merged_and_reinstated: tuple[CommandLine, list[str], str],
) -> None:
    palimpsest, [a, b], _ = merged_and_reinstated
    events = palimpsest.json("sql", "SELECT position, decided_at FROM events ORDER BY position")
    times = {event["position"]: event["decided_at"] for event in events}
    for command in (("status",), ("show", b), HEARD):
        by_time = palimpsest("--json", *command, "--as-of", f"{times[4]}+00:00").out
        assert by_time == palimpsest("--json", *command, "--as-of", "4").out
    rows = palimpsest("--json", "decisions", "--as-of", f"{times[4]}+00:00").out
    assert rows == palimpsest("--json", "decisions", "--as-of", "4").out
    [found] = palimpsest.json(*HEARD, "--as-of", "4")
    assert [member["candidate_id"] for member in found["members"]] == sorted([a, b])


@pytest.mark.parametrize("command", [("status",), HEARD, ("show", "ID"), ("decisions",)])
@pytest.mark.parametrize("when", ["7", "2999-01-01", "yesterday", "-1"])
def test_what_lies_in_the_future_is_wrong_usage(
    merged_and_reinstated: tuple[CommandLine, list[str], str], command: tuple[str, ...], when: str
) -> None:
    palimpsest, [a, _], _ = merged_and_reinstated
    words = [a if word == "ID" else word for word in command]
    assert palimpsest(*words, f"--as-of={when}").status == 2


@pytest.mark.parametrize("words", [("changes", "--after"), ("status", "--as-of")])
def test_a_number_of_thousands_of_digits_is_wrong_usage(
    palimpsest: CommandLine, row: Row, words: tuple[str, str]
) -> None:
    palimpsest.holds(row("a kettle"))
    ran = palimpsest(*words, "9" * 5_000)
    assert (ran.status, "a bug" in ran.err, "sys." in ran.err) == (2, False, False)


def test_a_timeline_is_drawn(merged_and_reinstated: tuple[CommandLine, list[str], str]) -> None:
    palimpsest, [a, b], joined = merged_and_reinstated
    shown = palimpsest.json("show", a)["timeline"]
    kinds = [(one["event"], one.get("because"), one.get("answers")) for one in shown]
    assert kinds == [
        ("joined", "one thing", None),
        ("reversed", "two things", joined),
        ("reinstated", None, shown[1]["event_id"]),
    ]
    assert {(one["candidate_id"], one["other_id"]) for one in shown} == {(b, a)}
    drawn = palimpsest("show", "--candidate", b).out
    assert "timeline" in drawn
    assert drawn.index("joined manual_join") < drawn.index("reversed  ") < drawn.index("reinstated")
    assert f"answers {joined}" in drawn.replace("\n", "")
