"""A newcomer that tells of a change is asked about what is nearest of the same owner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from palimpsest.contracts.requests import (
    MergeRequest,
    RetractRequest,
    Selection,
    SetNamesRequest,
    UnmergeRequest,
)
from palimpsest.contracts.wire import encode
from palimpsest.streams.search.scope_index import CHANGED_FROM, CHANGED_NEAR
from palimpsest.streams.write.serve import execute
from tests.streams.search.test_frame_index import asked, asking, decided, say
from tests.streams.write.runtime import Runtime
from tests.stub_engine import StubEngine

LEEDS, NURSE = "Ada lives in the town of Leeds.", "The user works as a nurse."
CLOSE = 1e-3
MOVED = "I moved to the town of York."


def set_names(runtime: Runtime) -> None:
    names = SetNamesRequest(request_id=uuid4().hex, owner_id="ada", names=("Ada", "the user", "I"))
    execute(runtime.writer, names)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite", policy=asking()) as running:
        set_names(running)
        yield running


def test_it_is_asked_about_the_nearest_and_the_evidence_says_by_what(runtime: Runtime) -> None:
    *_, moved = say(runtime, LEEDS, NURSE, MOVED)
    assert (moved.decision, asked(runtime, moved)) == ("pending", [LEEDS])
    [neighbour] = decided(runtime, moved).data.evidence.neighbours
    assert neighbour.frame == "only"
    assert neighbour.cosine is not None
    assert [one["assertion"] for one in moved.frame or ()] == [LEEDS]


def test_owners_without_names_are_asked_about_nothing_more(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=asking()) as runtime:
        assert [one.decision for one in say(runtime, LEEDS, NURSE, MOVED)] == ["stored"] * 3


@pytest.mark.parametrize(
    ("older", "newcomer"),
    [
        (LEEDS, "I stay in the town of York."),
        (LEEDS, "Did I move to the town of Leeds?"),
        ("Bob lives in the town of Leeds.", MOVED),
        ("We met. Ada is in the town of York.", MOVED),
        ("Ada sat at the foot of a hill.", "I left a den of the fox."),
        (LEEDS, "Whales moved north."),
        ("Ada used to live in the town of Leeds.", MOVED),
        ("Ada was in the town of Leeds.", MOVED),
        ("Ada's sister is in the town of Leeds.", MOVED),
    ],
)
def test_it_is_asked_about_one_sentence_of_its_owner_if_it_tells_of_a_change(
    runtime: Runtime, older: str, newcomer: str
) -> None:
    assert [one.decision for one in say(runtime, older, newcomer)] == ["stored", "stored"]


@pytest.mark.parametrize(
    "change", ["My sister moved to York.", "My sister's moved to York.", "She moved to York."]
)
def test_a_change_of_a_relative_is_asked_about_that_relative(runtime: Runtime, change: str) -> None:
    sister = "Ada's sister is in the town of Leeds."
    *_, moved = say(runtime, sister, change.replace("York", "the town of York"))
    assert asked(runtime, moved) == [sister]


def test_a_clause_is_asked_about_the_texts_of_its_frame(runtime: Runtime) -> None:
    wage = "Ada reports to Beth Airey."
    *_, left = say(runtime, wage, NURSE, "Beth is off to the coast, so I report to Al Tyson.")
    assert asked(runtime, left) == [wage]


def test_what_is_less_near_shares_a_word_that_says_what_it_is_about(runtime: Runtime) -> None:
    hill, left = say(runtime, "Ada sat at the foot of a hill.", "I left the foot of Kent.")
    assert asked(runtime, left) == ["Ada sat at the foot of a hill."]
    [neighbour] = decided(runtime, left).data.evidence.neighbours
    assert CHANGED_FROM < (neighbour.cosine or 0.0) < CHANGED_NEAR
    assert hill.decision == "stored"


def test_what_speaks_of_nobody_is_asked_about_the_nearest_of_all(runtime: Runtime) -> None:
    deadline = "My deadline for the book is in May."
    [_, moved] = say(runtime, deadline, "The deadline for the book was moved.")
    assert asked(runtime, moved) == [deadline]
    say(runtime, "The deadline for the book was kept.")
    [again] = say(runtime, "The deadline for the book was changed.")
    assert again.decision == "stored", "another text is nearer, and speaks of nobody either"


def test_the_policy_bounds_it_with_the_frames(tmp_path: Path) -> None:
    for frames, expected in ((0, []), (1, ["I live in Rome."]), (2, ["I live in Rome.", LEEDS])):
        with Runtime(tmp_path / f"{frames}.sqlite", policy=asking(frames)) as runtime:
            set_names(runtime)
            *_, now = say(runtime, LEEDS, "I live in Rome.", "I live in the Leeds town now.")
            assert sorted(asked(runtime, now)) == sorted(expected)


def test_no_merge_and_only_the_living_change_whom_it_is_asked_about(runtime: Runtime) -> None:
    leeds, nurse = say(runtime, LEEDS, NURSE)
    a, b = str(leeds.candidate_id), str(nurse.candidate_id)
    merged = execute(runtime.writer, MergeRequest(request_id=uuid4().hex, a=a, b=b))
    [moved] = say(runtime, MOVED)
    assert asked(runtime, moved) == [LEEDS]
    taken = UnmergeRequest(request_id=uuid4().hex, decision_id=merged["decision_id"])
    execute(runtime.writer, taken)
    gone = (Selection(candidate_id=a), Selection(candidate_id=str(moved.candidate_id)))
    for selection in gone:
        execute(runtime.writer, RetractRequest(request_id=uuid4().hex, selection=selection))
    [left] = say(runtime, "I left the town of Leeds.")
    assert left.decision == "stored"


WHO = ("Ada", "I", "The user", "Bob", "The deadline")
SAID = ("moved", "lives", "left", "has a new home", "no longer works", "walks")
WHERE = ("in Leeds", "in the town", "at the office", "near the sea", "with two cats")
OWN = ("Ada", "I ", "The user")


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_comparing_all_pairs_finds_however_rows_come(
    tmp_path: Path, seed: int
) -> None:
    """Alone, or many at once, which changes no byte of what is decided."""
    chance = random.Random(seed)
    drawn = (" ".join(map(chance.choice, (WHO, SAID, WHERE, WHERE))) + "." for _ in range(60))
    texts = list(dict.fromkeys(drawn))
    rows = [{"owner_id": "ada", "id": str(n), "text": one} for n, one in enumerate(texts)]
    logs, found = [], list[list[str]]()
    for size in (1, 25):
        with Runtime(tmp_path / f"{size}.sqlite", policy=asking(4)) as runtime:
            set_names(runtime)
            outcomes = [
                outcome
                for start in range(0, len(rows), size)
                for outcome in runtime.submit(*rows[start : start + size])
            ]
            found = [asked(runtime, outcome) for outcome in outcomes]
            logs.append([encode(decided(runtime, outcome)) for outcome in outcomes])
    assert logs[0] == logs[1]
    units = np.stack([one.vector for one in StubEngine().embed(texts)]).astype(np.float64)
    cosines = units @ units.T
    expected = 0
    for number, text in enumerate(texts):
        earlier = sorted(range(number), key=lambda n: -cosines[number, n])
        if not text.startswith(OWN):
            earlier = earlier[:1]
        own = [n for n in earlier if texts[n].startswith(OWN)]
        tells = not {"moved", "left", "new", "no"}.isdisjoint(text.split())
        scores = [float(cosines[number, n]) for n in own[:2]] + [0.0, 0.0]
        if not tells or scores[0] < CHANGED_NEAR + CLOSE or scores[0] - scores[1] < CLOSE:
            continue  # nothing to change, or two that are as near
        expected += 1
        assert texts[own[0]] in found[number] or len(found[number]) == 4
    assert expected > len(texts) / 5
