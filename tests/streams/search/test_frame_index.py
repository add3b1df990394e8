"""A newcomer is asked about with the newest of its frame, if the policy says so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.contracts.requests import (
    MergeRequest,
    RestoreRequest,
    RetractRequest,
    Selection,
    SetNamesRequest,
    SettleRequest,
    UnmergeRequest,
)
from palimpsest.contracts.wire import encode
from palimpsest.streams.guard import frame, frame_keys, read, shares_a_word
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.search import frame_index
from palimpsest.streams.search.frame_index import MOST_VALUES
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.serve import execute
from tests.streams.write.runtime import Runtime

STANDARD = load_policy("standard")


def asking(frames: int = 2, **more: object) -> Policy:
    """A policy whose zones no text here reaches but by its frame."""
    zone = Zone(at_least=0.99, action="pending")
    judge = STANDARD.judge.model_copy(update={"frames": frames, "of_owner": None, **more})
    checks = (CosineCheck(check="cosine", zones=(zone,)),)
    return STANDARD.model_copy(update={"name": "asking", "checks": checks, "judge": judge})


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite", policy=asking()) as running:
        yield running


def say(runtime: Runtime, *texts: str, **more: str) -> list[Outcome]:
    rows = [{"owner_id": "ada", "id": uuid4().hex, "text": text, **more} for text in texts]
    return runtime.submit(*rows)


def decided(runtime: Runtime, outcome: Outcome) -> Decided:
    found = runtime.log.find(outcome.decision_id or "")
    assert found is not None
    assert isinstance(found.event, Decided)
    return found.event


def asked(runtime: Runtime, outcome: Outcome) -> list[str]:
    """The texts that the judge is asked about."""
    entries = runtime.writer.ledger("ada").entries
    return [entries[one].text for one in decided(runtime, outcome).data.evidence.asked]


PARIS, ROME, OSLO, BONN = (f"Ada lives in {city}." for city in ("Paris", "Rome", "Oslo", "Bonn"))


def test_the_two_newest_of_a_frame_are_asked_about_and_recorded(runtime: Runtime) -> None:
    paris, _, rome, oslo = say(runtime, PARIS, "Ada has a dog.", ROME, OSLO)
    assert [paris.decision, rome.decision, oslo.decision] == ["stored", "pending", "pending"]
    assert asked(runtime, rome) == [PARIS]
    assert asked(runtime, oslo) == [ROME, PARIS]
    say(runtime, PARIS)
    [bonn] = say(runtime, BONN)
    assert asked(runtime, bonn) == [PARIS, OSLO], "who was said again is newer"
    evidence = decided(runtime, bonn).data.evidence
    assert {n.frame for n in evidence.neighbours if n.candidate_id in evidence.asked} == {"only"}
    assert all(neighbour.cosine is not None for neighbour in evidence.neighbours)


def test_gray_neighbours_come_first_and_are_asked_about_once(tmp_path: Path) -> None:
    near = asking()
    zones = (Zone(at_least=0.5, action="pending"),)
    near = near.model_copy(update={"checks": (CosineCheck(check="cosine", zones=zones, top=1),)})
    with Runtime(tmp_path / "log.sqlite", policy=near) as runtime:
        say(runtime, PARIS, ROME, "Ada lives in a house in Oslo near a lake.")
        [found] = say(runtime, OSLO)
        neighbours = decided(runtime, found).data.evidence.neighbours
        assert sorted(str(one.frame) for one in neighbours) in (
            ["None", "only", "only"],
            ["also", "only"],
        )
        assert len(asked(runtime, found)) == len({*asked(runtime, found)}) >= 2


def test_a_series_is_not_asked_about(runtime: Runtime) -> None:
    weights = [f"Ada weighs {kilos} kg in the morning." for kilos in range(60, 68)]
    outcomes = say(runtime, *weights)
    decisions = ["stored", *["pending"] * (MOST_VALUES - 1)]
    assert [one.decision for one in outcomes] == [*decisions, "stored", "stored", "stored"]


def test_a_series_of_one_clause_hides_no_frame_of_another(runtime: Runtime) -> None:
    execute(
        runtime.writer, SetNamesRequest(request_id=uuid4().hex, owner_id="ada", names=("Ada", "I"))
    )
    weights = [f"Ada weighs {kilos} kg in the morning." for kilos in range(60, 60 + MOST_VALUES)]
    say(runtime, *weights, "Ada reports to Beth Airey.")
    [both] = say(
        runtime, "Beth is gone, so I report to Al Tyson, and I weigh 70 kg in the morning."
    )
    assert asked(runtime, both)[0] == "Ada reports to Beth Airey."


def test_wordings_that_call_the_owner_otherwise_are_no_series(runtime: Runtime) -> None:
    names = ("Ada", "Ada Lovelace", "the user", "I")
    execute(runtime.writer, SetNamesRequest(request_id=uuid4().hex, owner_id="ada", names=names))
    who = ("Ada lives", "Ada Lovelace lives", "The user lives", "User lives", "I live", "Lives")
    assert len(who) > MOST_VALUES
    say(runtime, *(f"{one} in Paris." for one in who))
    [moved] = say(runtime, ROME)
    assert len(asked(runtime, moved)) == 2


def test_only_the_living_of_the_scope_are_asked_about(runtime: Runtime) -> None:
    paris, _ = say(runtime, PARIS, ROME)
    gone = Selection(candidate_id=str(paris.candidate_id))
    execute(runtime.writer, RetractRequest(request_id=uuid4().hex, selection=gone))
    [oslo] = say(runtime, OSLO)
    assert asked(runtime, oslo) == [ROME]
    execute(runtime.writer, RestoreRequest(request_id=uuid4().hex, selection=gone))
    [bonn, other] = [*say(runtime, BONN), *say(runtime, BONN, namespace="work")]
    assert asked(runtime, bonn) == [OSLO, ROME]
    assert other.decision == "stored"


def test_no_merge_changes_whom_a_newcomer_is_asked_about(runtime: Runtime) -> None:
    """So un-merging is exact: no decision depends on it."""
    paris, rome = say(runtime, PARIS, ROME)
    a, b = str(paris.candidate_id), str(rome.candidate_id)
    merged = execute(runtime.writer, MergeRequest(request_id=uuid4().hex, a=a, b=b))
    [oslo] = say(runtime, OSLO)
    assert asked(runtime, oslo) == [ROME, PARIS]
    taken = UnmergeRequest(request_id=uuid4().hex, decision_id=merged["decision_id"])
    execute(runtime.writer, taken)
    [bonn] = say(runtime, BONN)
    assert asked(runtime, bonn) == [OSLO, ROME]


@pytest.mark.parametrize("unavailable", ["keep", "reject", "supersede"])
def test_without_a_judge_a_frame_joins_nothing(tmp_path: Path, unavailable: str) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=asking(unavailable=unavailable)) as runtime:
        paris, rome = say(runtime, PARIS, ROME)
        nobody = Verdict(neighbour_id=str(paris.candidate_id), answer="unavailable")
        settled = SettleRequest(
            request_id=uuid4().hex, candidate_id=str(rome.candidate_id), verdicts=(nobody,)
        )
        execute(runtime.writer, settled)
        entry = runtime.writer.ledger("ada").entries[str(rome.candidate_id)]
        assert (entry.pending, len(entry.memory.members)) == (False, 1)


def test_a_judge_that_is_switched_off_is_asked_about_no_frame(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=asking(enabled=False)) as runtime:
        assert [one.decision for one in say(runtime, PARIS, ROME)] == ["stored", "stored"]


def test_standard_alone_asks_about_frames_and_the_other_presets_keep_their_hashes() -> None:
    assert {name: load_policy(name).hash for name in preset_names() if name != "standard"} == {
        "importance": "sha256:8d058109b707d477",
        "layered": "sha256:9efa60b58e62316d",
        "namespaced": "sha256:322e17879921f206",
        "replace-or-merge": "sha256:ff6be2ebc532c560",
        "store-time": "sha256:5109ce65142261a9",
    }
    assert [n for n in preset_names() if load_policy(n).judge.frames] == ["standard"]
    assert asking(0).hash != asking(2).hash
    rules = {**STANDARD.model_dump(mode="json"), "search": "memories"}
    with pytest.raises(ValidationError, match=r"judge\.frames"):
        Policy.model_validate({**rules, "judge": {**rules["judge"], "frames": 1}})


PARTS = (
    ("Ada lives in", "I live in", "The user prefers", "Her boss is", "Ada has", "Ada's cat"),
    ("Paris", "New York", "two cats", "three cats", "tea", "Tom", "one cat", "no cat", "Rome now"),
    ("", ".", " today.", " on Monday", " and sings", "?"),
)


def text(chance: random.Random) -> str:
    start, value, end = map(chance.choice, PARTS)
    return f"{start} {value}{end}"


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_comparing_all_pairs_finds_however_rows_come(
    tmp_path: Path, seed: int
) -> None:
    """Alone, or many at once, which changes no byte of what is decided."""
    chance = random.Random(seed)
    texts = list(dict.fromkeys(text(chance) for _ in range(150)))
    rows = [{"owner_id": "ada", "id": str(n), "text": one} for n, one in enumerate(texts)]
    logs, found = [], list[set[str]]()
    for size in (1, 60):
        with Runtime(tmp_path / f"{size}.sqlite", policy=asking(4)) as runtime:
            outcomes = [
                outcome
                for start in range(0, len(rows), size)
                for outcome in runtime.submit(*rows[start : start + size])
            ]
            found = [set(asked(runtime, outcome)) for outcome in outcomes]
            logs.append([encode(decided(runtime, one)) for one in outcomes])
    readings = [read(one) for one in texts]
    expected = []
    for number, newcomer in enumerate(readings):
        mates = [other for other in readings[:number] if frame(other, newcomer)]
        assert all({*frame_keys(mate)} & {*frame_keys(newcomer)} for mate in mates)
        values = {mate.statement.lows for mate in mates}
        mates = [] if len(values) >= MOST_VALUES else mates[-4:]
        expected.append({texts[readings.index(mate)] for mate in mates})
    assert found == expected
    assert logs[0] == logs[1]
    assert any(expected)
    assert sum(map(bool, expected)) < len(expected)


SAVES = "Ada saves 400 shillings with the club."


def by_names(runtime: Runtime) -> None:
    names = SetNamesRequest(request_id=uuid4().hex, owner_id="ada", names=("Ada", "I"))
    execute(runtime.writer, names)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Each month 400 go from me to the club", [SAVES]),
        ("Club savings: 400", [SAVES]),
        ("Each month 600 go from me to the club", []),
        ("Bob puts 400 into the club", []),
        ("My sister puts 400 into the club", []),
        ("I have read 400 pages", []),
    ],
)
def test_the_same_numbers_of_an_owner_with_names_are_asked_about(
    runtime: Runtime, text: str, found: list[str]
) -> None:
    """If the texts share a word, and speak of the same person."""
    by_names(runtime)
    say(runtime, SAVES)
    [outcome] = say(runtime, text)
    assert asked(runtime, outcome) == found


def test_without_names_the_same_numbers_say_nothing(runtime: Runtime) -> None:
    say(runtime, SAVES)
    [outcome] = say(runtime, "Each month 400 go from me to the club")
    assert asked(runtime, outcome) == []


def test_many_memories_of_the_same_numbers_are_a_series(runtime: Runtime) -> None:
    by_names(runtime)
    verbs = ("owe", "lend", "borrow", "lose", "collect", "count")[: MOST_VALUES + 1]
    *_, last = say(runtime, *(f"I {verb} for the club and its {verb}ers 400" for verb in verbs))
    assert asked(runtime, last) == []


def test_of_a_series_only_the_latest_texts_are_compared(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_names(runtime)
    verbs = "owe lend borrow lose collect count sell send".split()
    say(runtime, *(f"I {verb} for the club and its {verb}ers 400" for verb in verbs))
    compared = list[bool]()

    def compare(*texts: Any) -> bool:
        compared.append(shares_a_word(*texts))
        return compared[-1]

    monkeypatch.setattr(frame_index, "shares_a_word", compare)
    say(runtime, "Club savings: 400")
    assert compared == [True] * MOST_VALUES
