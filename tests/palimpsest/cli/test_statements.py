"""A row without an id is new each time it is added, and the same each time it is read."""

from __future__ import annotations

import json

import pytest

from palimpsest import Palimpsest
from palimpsest.process.output import Output
from tests.palimpsest.cli.conftest import CommandLine, row

BERLIN, PARIS = "Ada has moved to Berlin", "Ada has moved to Paris"


def submit(palimpsest: CommandLine, *texts: str, **fields: str) -> list[str]:
    """Submit texts one after the other; return the outcome of each."""
    with Palimpsest.open(palimpsest.store) as store:
        outcomes = [store.submit(row(text, **fields))[0] for text in texts]
    return [outcome.decision or outcome.result for outcome in outcomes]


def test_a_text_that_was_displaced_can_be_said_again(palimpsest: CommandLine) -> None:
    submit(palimpsest, BERLIN, PARIS)
    berlin, paris = palimpsest.ids()
    palimpsest.json("merge", berlin, paris, "--face", "B")
    assert palimpsest.json("show", berlin)["face"] == PARIS
    assert submit(palimpsest, BERLIN) == ["hash_exact"]
    assert len(palimpsest.json("show", berlin)["members"]) == 3


def test_a_forgotten_text_that_is_said_again_is_remembered(palimpsest: CommandLine) -> None:
    submit(palimpsest, BERLIN)
    palimpsest.json("retract", "--candidate", palimpsest.ids()[0])
    assert palimpsest.json("recall", "ada", BERLIN) == []
    submit(palimpsest, BERLIN)
    assert [memory["face"] for memory in palimpsest.json("recall", "ada", BERLIN)] == [BERLIN]


def test_a_row_with_an_id_can_be_sent_again(palimpsest: CommandLine) -> None:
    assert submit(palimpsest, BERLIN, BERLIN, id="1") == ["stored", "stored"]
    assert palimpsest.json("status")["candidates"] == 1


@pytest.mark.parametrize(("piped", "candidates"), [(True, 2), (False, 1)])
def test_a_file_is_known_and_a_pipe_is_new(
    palimpsest: CommandLine, piped: bool, candidates: int
) -> None:
    line = json.dumps(row(BERLIN)) + "\n"
    file = palimpsest.file([row(BERLIN)])
    for _ in range(2):
        palimpsest("ingest", "-", stdin=line) if piped else palimpsest("ingest", file)
    assert palimpsest.json("status")["candidates"] == candidates


def planned(palimpsest: CommandLine) -> str:
    """A file with a plan of the memories that mention Berlin."""
    plan = palimpsest.json("find", "ada", "Berlin", "--by", "words")
    return palimpsest.file([plan], "plan.json")


def test_exactly_what_a_plan_shows_is_forgotten(palimpsest: CommandLine) -> None:
    submit(palimpsest, BERLIN, "Ada plays chess")
    plan = planned(palimpsest)
    [shown] = palimpsest.json("forget", "--plan", plan, "--dry-run")["candidates"]
    palimpsest.json("update", shown, "Ada has left Berlin")
    late = palimpsest("forget", "--plan", plan)
    assert (late.status, "moved_on" in late.err) == (3, True)
    gone = palimpsest.json("forget", "--plan", planned(palimpsest))
    assert len(gone["candidates"]) == 2
    left = palimpsest.json("list", "ada")["memories"]
    assert [one["face"] for one in left] == ["Ada plays chess"]
    palimpsest.json("restore", "--forgotten", gone["forgotten"])
    assert len(palimpsest.json("list", "ada")["memories"]) == 2


def test_a_memory_is_forgotten_only_in_the_version_that_is_expected(
    palimpsest: CommandLine,
) -> None:
    submit(palimpsest, BERLIN)
    [memory] = palimpsest.json("list", "ada")["memories"]
    for words in (
        ("recall", "ada", "Berlin"),
        ("get", memory["memory_id"]),
        ("history", memory["memory_id"]),
        ("show", memory["memory_id"]),
        ("show", "--candidate", memory["memory_id"]),
        ("find", "ada", "Berlin"),
        ("check", "ada", BERLIN),
    ):
        assert f'"version":"{memory["version"]}"' in json.dumps(
            palimpsest.json(*words), separators=(",", ":")
        )
    seen = ("forget", memory["memory_id"], "--expect", memory["version"])
    assert palimpsest.json(*seen, "--dry-run")["candidates"] == [memory["memory_id"]]
    palimpsest.json("update", memory["memory_id"], "Ada has left Berlin")
    late = palimpsest(*seen)
    assert (late.status, "moved_on" in late.err) == (3, True)
    [now] = palimpsest.json("list", "ada")["memories"]
    palimpsest.json("forget", now["memory_id"], "--expect", now["version"])
    assert palimpsest.json("list", "ada")["memories"] == []


def test_all_that_mention_the_words_are_forgotten_once_that_was_agreed(
    palimpsest: CommandLine,
) -> None:
    submit(palimpsest, BERLIN, "Ada has left Berlin", "Ada plays chess")
    words = ("forget", "--owner", "ada", "--query", "Berlin")
    unasked = palimpsest(*words)
    assert (unasked.status, "2 memories: --dry-run shows what would" in unasked.err) == (
        2,
        True,
    )
    assert len(palimpsest.json(*words, "--dry-run")["candidates"]) == 2
    assert len(palimpsest.json("list", "ada")["memories"]) == 3
    assert len(palimpsest.json(*words, "--yes")["candidates"]) == 2
    [left] = palimpsest.json("list", "ada")["memories"]
    assert left["face"] == "Ada plays chess"
    none = palimpsest(*words, "--yes")
    assert (none.status, "no memory mentions these words" in none.err) == (1, True)


@pytest.mark.parametrize(
    "plan", ["", "[1]", "{}", '{"hits": [], "token": "a"}', '{"hits": ["a"], "token": "a"}',
             '{"hits": [{"memory_id": 1}], "token": "a"}', '{"hits": [{}], "token": 1}'],
)  # fmt: skip
def test_what_is_no_plan_is_refused(palimpsest: CommandLine, plan: str) -> None:
    submit(palimpsest, BERLIN)
    refused = palimpsest("forget", "--plan", palimpsest.file([plan], "plan.json"))
    assert (refused.status, "plan" in refused.err) == (2, True), refused.err
    assert len(palimpsest.json("list", "ada")["memories"]) == 1


@pytest.mark.parametrize(
    ("content", "why"), [(None, "cannot be read (No such file"), ("nope", "is not JSON"),
                         ("[1]", "has no hits")],
)  # fmt: skip
def test_a_plan_that_is_none_is_told_from_another_file(
    palimpsest: CommandLine, content: str | None, why: str
) -> None:
    submit(palimpsest, BERLIN)
    file = "nope" if content is None else palimpsest.file([content], "plan.json")
    refused = palimpsest("forget", "--plan", file)
    assert refused.err.startswith(f"error: {file} {why}")
    assert "a file with the output of `palimpsest find … --json`" in refused.err


def test_of_a_plan_in_which_one_is_nobody_nothing_is_forgotten(palimpsest: CommandLine) -> None:
    submit(palimpsest, BERLIN)
    [memory_id] = palimpsest.ids()
    hits = [{"memory_id": memory_id}, {"memory_id": 1}]
    plan = palimpsest.file([json.dumps({"hits": hits, "token": "a"})], "plan.json")
    refused = palimpsest("forget", "--plan", plan)
    assert (refused.status, "expected a plan, the answer of `find`" in refused.err) == (2, True)


NAMED = ("forget", "--owner", "ada", "--query", "Berlin")


def faces(palimpsest: CommandLine) -> list[str]:
    return [memory["face"] for memory in palimpsest.json("list", "ada")["memories"]]


def test_what_mentions_some_words_is_forgotten_by_who_says_yes(palimpsest: CommandLine) -> None:
    submit(palimpsest, BERLIN, PARIS)
    refused = palimpsest(*NAMED)
    assert (refused.status, "1 memory: --dry-run shows" in refused.err) == (2, True)
    shown = palimpsest.json(*NAMED, "--dry-run")["candidates"]
    assert faces(palimpsest) == [PARIS, BERLIN]
    assert palimpsest.json(*NAMED, "--yes")["candidates"] == shown == palimpsest.ids()[:1]
    assert faces(palimpsest) == [PARIS]


def test_a_query_without_a_match_is_answered_by_a_document_too(palimpsest: CommandLine) -> None:
    submit(palimpsest, PARIS)
    ran = palimpsest(*NAMED, "--yes", "--json")
    answer = json.loads(ran.out)
    assert (ran.status, answer["forgotten"], answer["candidates"]) == (1, None, [])
    assert "no memory mentions these words" in ran.err
    assert answer.keys() == palimpsest.json("forget", *palimpsest.ids(), "--dry-run").keys()


@pytest.mark.parametrize(("answer", "left", "status"), [("n", 2, 1), ("y", 1, 0)])
def test_a_person_sees_what_mentions_some_words_and_is_asked(
    answer: str,
    left: int,
    status: int,
    palimpsest: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit(palimpsest, BERLIN, PARIS)
    monkeypatch.setattr(Output, "asks", True)
    ran = palimpsest(*NAMED, stdin=answer + "\n")
    assert BERLIN in ran.err
    assert PARIS not in ran.err
    assert (ran.status, len(faces(palimpsest))) == (status, left)
