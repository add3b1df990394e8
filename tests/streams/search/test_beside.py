"""Whom a newcomer is asked about beside its gray zone: other memories, and what is of its owner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import ValidationError

from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.contracts.requests import SetNamesRequest, SettleRequest, UnmergeRequest
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.serve import execute
from tests.streams.search.test_frame_index import asked, say
from tests.streams.write.runtime import Runtime

STANDARD = load_policy("standard")
LIVES, HOME, SAME = "Ada lives in Rome", "Ada has a home in Rome.", "Ada lives in Rome."


def policy(**judge: object) -> Policy:
    """One that joins near-identical texts, and whose gray zone all texts of some words are in."""
    zones = (Zone(at_least=0.3, action="pending"),)
    check = CosineCheck(check="cosine", zones=zones, near_identical=0.1)
    rules = STANDARD.judge.model_copy(update={"frames": 0, **judge})
    return STANDARD.model_copy(update={"name": "beside", "checks": (check,), "judge": rules})


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite", policy=policy()) as running:
        yield running


def entry_of(runtime: Runtime, outcome: Outcome) -> Entry:
    return runtime.writer.ledger("ada").entries[str(outcome.candidate_id)]


def settle(runtime: Runtime, asking: Outcome, about: Outcome, answer: Answer) -> None:
    verdict = Verdict(neighbour_id=str(about.candidate_id), answer=answer)
    execute(
        runtime.writer,
        SettleRequest(
            request_id=uuid4().hex, candidate_id=str(asking.candidate_id), verdicts=(verdict,)
        ),
    )


def three(runtime: Runtime) -> tuple[Outcome, Outcome, Outcome]:
    """A text, what the judge keeps apart from it, and one that a rule joins to the first."""
    lives, home = say(runtime, LIVES, HOME)
    assert (lives.decision, home.decision) == ("stored", "pending")
    settle(runtime, home, lives, "unusable")
    [same] = say(runtime, SAME)
    return lives, home, same


def test_a_newcomer_that_a_rule_joins_is_asked_about_another_memory(runtime: Runtime) -> None:
    lives, home, same = three(runtime)
    assert (same.decision, asked(runtime, same)) == ("auto_reject", [HOME])
    entry = entry_of(runtime, same)
    assert (entry.pending, entry.open) == (True, (home.candidate_id,))
    settle(runtime, same, home, "same")
    assert len({entry_of(runtime, one).memory.id for one in (lives, home, same)}) == 1
    assert not entry_of(runtime, same).pending


@pytest.mark.parametrize("first", ["rule", "answer"])
def test_either_join_can_be_taken_out_and_the_other_stands(runtime: Runtime, first: str) -> None:
    lives, home, same = three(runtime)
    settle(runtime, same, home, "same")
    runtime.writer.commit()
    edges = {edge.decision: edge.id for edge in entry_of(runtime, same).edges}
    gone = edges["auto_reject" if first == "rule" else "llm_reject"]
    execute(runtime.writer, UnmergeRequest(request_id=uuid4().hex, decision_id=gone))
    apart, beside = (lives, home) if first == "rule" else (home, lives)
    own = entry_of(runtime, same).memory
    assert entry_of(runtime, apart).memory is not own
    assert entry_of(runtime, beside).memory is own


def test_who_is_of_its_memory_already_is_passed_over(runtime: Runtime) -> None:
    lives, home = say(runtime, LIVES, HOME)
    settle(runtime, home, lives, "same")
    [same] = say(runtime, SAME)
    assert (same.decision, asked(runtime, same)) == ("auto_reject", [HOME])
    assert not entry_of(runtime, same).pending
    taken = UnmergeRequest(request_id=uuid4().hex, candidate_id=str(home.candidate_id))
    execute(runtime.writer, taken)
    assert entry_of(runtime, same).open == (home.candidate_id,), "it is of another memory now"


@pytest.mark.parametrize("off", [{"bridges": False}, {"enabled": False}])
def test_else_who_is_joined_is_asked_about_nobody(tmp_path: Path, off: dict[str, object]) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=policy(**off)) as runtime:
        outcomes = say(runtime, LIVES, HOME, SAME)
        assert (outcomes[-1].decision, asked(runtime, outcomes[-1])) == ("auto_reject", [])


OF_OWNER = policy(of_owner=0.2).model_copy(
    update={"checks": (CosineCheck(check="cosine", zones=(Zone(at_least=1, action="pending"),)),)}
)
RIDES = "Bob rides a bike to work."
CYCLES = "Ada takes a bike to work."


def test_of_an_owner_with_names_the_nearest_that_speaks_of_the_owner_is_asked_about(
    tmp_path: Path,
) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=OF_OWNER) as runtime:
        [_, unnamed] = say(runtime, RIDES, CYCLES)
        assert unnamed.decision == "stored", "nobody has names"
        names = SetNamesRequest(request_id=uuid4().hex, owner_id="ada", names=("Ada", "the user"))
        execute(runtime.writer, names)
        [bob] = say(runtime, "Bob has a bike for work.")
        assert asked(runtime, bob) == [CYCLES], "of the two nearest, it alone speaks of Ada"
        [user] = say(runtime, "The user takes a bike to go to work.")
        assert (user.decision, len(asked(runtime, user))) == ("pending", 1)
        [other] = say(runtime, "Rain falls on the sea.")
        assert other.decision == "stored"


def test_standard_alone_asks_so_and_only_where_no_merge_changes_the_answer() -> None:
    more = {n: p.judge for n in preset_names() if (p := load_policy(n)).judge.bridges}
    assert [*more] == ["standard"]
    assert more["standard"].of_owner == 0.7
    rules = {**STANDARD.model_dump(mode="json"), "search": "memories"}
    for name, value in (("bridges", True), ("of_owner", 0.7)):
        judge = {"neighbours": 3, name: value}
        with pytest.raises(ValidationError, match=rf"judge\.{name}"):
            Policy.model_validate({**rules, "judge": judge})
