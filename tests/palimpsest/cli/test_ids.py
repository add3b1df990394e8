"""Ids as people type them: abbreviated, and of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.queries import ids as naming
from tests.palimpsest.cli.conftest import CommandLine, row

PARIS, TEA, CELLO = "Ada lives in Paris near the canal", "Ada drinks green tea", "Ada plays cello"
SHED = "Ada paints wooden boats in the shed"


class Joined:
    """Three candidates that a person joined into one memory."""

    def __init__(self, line: CommandLine) -> None:
        self.line = line
        (self.a, self.b, self.c), self.ab, self.ac = line.begins("joined", self._join)

    def _join(self) -> tuple[list[str], str, str]:
        self.line.ingest(row(PARIS), row(TEA), row(CELLO))
        a, b, c = ids = self.line.ids()
        ab: str = self.line.json("merge", a, b)["decision_id"]
        ac: str = self.line.json("merge", a, c)["decision_id"]
        return ids, ab, ac


@pytest.fixture
def joined(palimpsest: CommandLine) -> Joined:
    return Joined(palimpsest)


def test_the_beginning_of_an_id_will_do(palimpsest: CommandLine) -> None:
    palimpsest.holds(row(PARIS), row(TEA), row(CELLO))
    a, b, c = palimpsest.ids()
    merged = palimpsest.json("merge", a[:8], b[:9], "--face", "B")
    assert merged["memories"][0]["face"] == TEA
    decision = merged["decision_id"]
    assert palimpsest.json("confirm", decision[:8])["decision_id"] == decision
    assert palimpsest.json("show", b[:8].upper())["memory_id"] == a
    assert palimpsest.json("unmerge", "--decision", decision[:12])["reversed"] == [decision]
    assert palimpsest.json("reinstate", decision[:8])["decision_id"] == decision
    assert palimpsest.json("unmerge", "--candidate", b[:8])["reversed"] == [decision]
    assert len(palimpsest.json("separate", a[:8], c[:8])["memories"]) == 2
    assert palimpsest.json("retract", "--candidate", b[:8])["retracted"] == [b]
    assert palimpsest.json("show", "--candidate", b[:8])["living"] is False


def test_an_answer_to_a_review_takes_beginnings(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(SHED), row(SHED.replace(" wooden", "")))
    asked = palimpsest.json("review", "next")
    same = ["review", "same", asked["decision_id"][:8], asked["existing_id"][:8]]
    assert [len(memory["members"]) for memory in palimpsest.json(*same)["memories"]] == [2]


def test_the_next_review_says_how_it_is_answered(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(SHED), row(SHED.replace(" wooden", "")))
    ran = palimpsest("--json", "review", "next")
    asked = ran.document
    pair = [asked["decision_id"], asked["existing_id"]]
    assert ran.err.split() == ["palimpsest", "review", "same|different", *pair]
    palimpsest.json("review", "same", *pair)
    ran = palimpsest("review", "next")
    assert (ran.out, ran.err) == ("nothing waits\n", "")


@pytest.mark.parametrize("typed", ["7 chars", "00000000", "not an id at all"])
def test_what_is_no_beginning_is_not_guessed(joined: Joined, typed: str) -> None:
    assert joined.line("show", typed).status == 3


@pytest.mark.parametrize("length", [4, 7])
def test_a_beginning_that_is_too_short_is_reported(joined: Joined, length: int) -> None:
    ran = joined.line("show", joined.a[:length])
    assert (ran.status, "8 characters" in ran.err) == (2, True)


def test_the_beginning_of_a_dead_letters_id_will_do(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(PARIS), "no json", status=1)
    [letter] = palimpsest.json("dead-letters", "list")
    shown = palimpsest.json("dead-letters", "show", letter["id"][:8])
    assert (shown["id"], shown["text"]) == (letter["id"], "no json")
    assert palimpsest.json("dead-letters", "retry", letter["id"][:8], status=1)["rows"] == 1


def test_a_beginning_of_several_is_listed(joined: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        naming._FOUND, "candidate", "SELECT candidate_id AS id FROM candidates WHERE ? <> ''"
    )
    ran = joined.line("--json", "show", joined.a[:8])
    assert ran.status == 2
    detail = ran.document["error"]["detail"]
    assert all(f"candidate {one}" in detail for one in (joined.a, joined.b, joined.c))


def test_show_takes_a_memory_a_candidate_or_a_decision(joined: Joined) -> None:
    line = joined.line
    memory = line.json("show", joined.a)
    assert len(memory["members"]) == 3
    assert line.json("show", joined.b) == memory
    of_decision = line.json("show", joined.ab)
    assert (of_decision["candidate_id"], of_decision["memory_id"]) == (joined.b, joined.a)
    assert line.json("show", "--candidate", joined.ab) == of_decision


@pytest.mark.parametrize("command", ["unmerge", "reverse"])
def test_a_join_is_taken_out_by_whatever_id_names_it(joined: Joined, command: str) -> None:
    line = joined.line
    by: dict[str, str] = {joined.b: joined.ab, joined.ab[:8]: joined.ab, joined.c: joined.ac}
    for typed, decision in by.items():
        shown = line.json(command, typed, "--dry-run")
        assert shown["reversed"] == [decision]
        assert line.json(command, typed)["reversed"] == [decision]
        line.json("reinstate", decision)


def test_a_pair_is_named_by_decisions_too_and_a_join_that_went_is_marked(joined: Joined) -> None:
    line = joined.line
    line.json("unmerge", joined.ab)
    [marked] = [one for one in line("decisions").out.splitlines() if "taken back" in one]
    assert marked.startswith("joined (manual_join)")
    line.json("merge", joined.ab, joined.a)
    assert len(line.json("show", joined.a)["members"]) == 3


@pytest.mark.parametrize("command", ["unmerge", "reverse"])
def test_a_memory_of_many_is_not_taken_apart_by_mistake(joined: Joined, command: str) -> None:
    """Its id is also that of its first candidate."""
    line = joined.line
    refused = line("--json", command, joined.a)
    assert refused.status == 2
    assert "a memory of 3 candidates" in refused.document["error"]["detail"]
    assert len(line.json(command, joined.a, "--dry-run")["reversed"]) == 2
    assert len(line.json(command, joined.a, "--yes")["reversed"]) == 2


@pytest.mark.parametrize("command", ["unmerge", "reverse"])
def test_a_memory_of_two_has_one_join_whichever_is_meant(
    palimpsest: CommandLine, command: str
) -> None:
    palimpsest.holds(row(PARIS), row(TEA), row(CELLO))
    a, b, _ = palimpsest.ids()
    decision = palimpsest.json("merge", a, b)["decision_id"]
    assert palimpsest.json(command, a)["reversed"] == [decision]


def test_a_memory_that_is_named_as_one_is_taken_apart_unasked(joined: Joined) -> None:
    gone = joined.line.json("unmerge", "--memory", joined.a[:8])
    assert sorted(gone["reversed"]) == sorted([joined.ab, joined.ac])


def test_an_id_and_options_are_one_too_many(joined: Joined) -> None:
    assert joined.line("unmerge", joined.a, "--decision", joined.ab).status == 2
    assert joined.line("reverse", joined.ab, "--owner", "ada").status == 2
    assert joined.line("unmerge").status == 2


def test_evidence_has_the_neighbours_texts_and_the_thresholds(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(SHED), row("Ada paints boats in the shed"))
    a, b = palimpsest.ids()
    evidence: dict[str, Any] = palimpsest.json("show", "--candidate", b)["evidence"]
    [neighbour] = evidence["neighbours"]
    assert (neighbour["candidate_id"], neighbour["text"]) == (
        a,
        SHED,
    )
    policy = palimpsest.json("policy", "show")
    [cosine] = [check for check in policy["checks"] if check["check"] == "cosine"]
    expected = [(zone["at_least"], zone["action"]) for zone in cosine["zones"]]
    told = [threshold for threshold in evidence["thresholds"] if threshold["check"] == "cosine"]
    assert [(one["at_least"], one["then"]) for one in told] == expected
    drawn = palimpsest("show", "--candidate", b).out
    assert SHED in drawn
    assert f"cosine {expected[0][0]:g} {expected[0][1]}" in " ".join(drawn.split())


# -- URNs ----------------------------------------------------------------------------------------


def test_a_urn_will_do_wherever_an_id_does(palimpsest: CommandLine) -> None:
    palimpsest.ingest(*(row(text, namespace="tech debt") for text in (PARIS, TEA, CELLO)))
    a, b, c = palimpsest.ids()
    urn = {one: f"palimpsest://ada/tech%20debt/{one}" for one in (a, b, c)}
    assert palimpsest.json("show", urn[a])["urn"] == urn[a]
    assert palimpsest.json("show", "--candidate", urn[b])["urn"] == urn[b]
    merged = palimpsest.json("merge", urn[a], urn[b], "--face", "B")
    decision = merged["decision_id"]
    of_it = f"palimpsest://ada/tech%20debt/{decision}"
    assert palimpsest.json("confirm", of_it)["decision_id"] == decision
    assert palimpsest.json("unmerge", "--decision", of_it)["reversed"] == [decision]
    assert palimpsest.json("reinstate", of_it)["decision_id"] == decision
    assert palimpsest.json("unmerge", "--memory", urn[a])["reversed"] == [decision]
    assert len(palimpsest.json("separate", urn[a], urn[c])["memories"]) == 2
    assert palimpsest.json("retract", "--candidate", urn[b])["retracted"] == [b]
    assert {one["urn"] for one in palimpsest.json("recall", "ada", "tea")} == {urn[a], urn[c]}
    assert palimpsest.json("show", urn[a][: -len(a) + 8])["memory_id"] == a


@pytest.mark.parametrize("scope", ["ada/default", "eve/tech%20debt", "ada/tech"])
def test_a_urn_of_another_owner_or_namespace_is_wrong_usage(
    palimpsest: CommandLine, scope: str
) -> None:
    palimpsest.ingest(row(PARIS, namespace="tech debt"))
    [a] = palimpsest.ids()
    wrong = palimpsest("show", f"palimpsest://{scope}/{a}")
    assert wrong.status == 2
    assert "as the URN says" in wrong.err
    assert "as the URN says" in palimpsest("show", f"palimpsest://{scope}/{a[:8]}").err
    assert palimpsest("show", f"palimpsest://{scope}").status == 2


def test_a_urn_of_nobody_is_refused_as_its_id_is(palimpsest: CommandLine) -> None:
    palimpsest.ingest(row(PARIS))
    assert (
        palimpsest("show", f"palimpsest://ada/default/{'0' * 8}-0000-0000-0000-{'0' * 12}").status
        == 3
    )
