"""What an update, its undoing and a forgetting answer, the first time and again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Retracted
from palimpsest.contracts.policy import CosineCheck, Zone
from palimpsest.contracts.requests import (
    ForgetRequest,
    MergeRequest,
    RestoreRequest,
    RetractRequest,
    Selection,
    UndoRequest,
    UpdateRequest,
)
from palimpsest.streams.policies import load_policy
from tests.streams.write.runtime import Runtime
from tests.streams.write.test_operations import ask, dry_run, fresh, submit


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite") as made:
        yield made


@pytest.fixture
def pair(runtime: Runtime) -> tuple[str, str]:
    """Two memories of Ann's."""
    a, b = (str(one.candidate_id) for one in submit(runtime, "Ann rows", "Ben bakes bread"))
    return a, b


def request(memory_id: str, text: str, **said: Any) -> UpdateRequest:
    return UpdateRequest(request_id=fresh(), memory_id=memory_id, text=text, **said)


def merge(a: str, b: str) -> MergeRequest:
    return MergeRequest(request_id=fresh(), a=a, b=b)


def test_an_update_tells_what_it_displaced_and_the_same_again(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, _ = pair
    said = request(a, "Ann sails")
    answer = ask(runtime, said)
    assert (answer["changed"], answer["merged"]) == (True, None)
    assert answer["displaced"] == {"candidate_id": a, "text": "Ann rows"}
    assert answer["decision_id"] == answer["events"][-1]
    assert answer["was"] != answer["version"]
    count = runtime.log.count()
    assert ask(runtime, said) == answer
    assert runtime.log.count() == count


def test_the_text_that_it_has_changes_nothing_and_displaces_nobody(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, _ = pair
    answer = ask(runtime, request(a, " Ann rows"))
    nothing = (answer[key] for key in ("decision_id", "displaced", "merged"))
    assert (answer["changed"], *nothing) == (False, None, None, None)
    assert (answer["candidate_id"], answer["was"]) == (a, answer["version"])
    assert answer["events"] == []


def test_an_updates_text_is_a_candidate_that_is_known_if_it_comes_again(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, _ = pair
    said = request(a, "Ann sails")
    ask(runtime, said)
    row = {"owner_id": "ann", "source": "update", "id": said.request_id, "text": "Ann sails"}
    [known] = runtime.submit(row)
    [other] = runtime.submit(row | {"text": "Ann swims"})
    assert (known.result, other.result) == ("known", "invalid")


SAID: dict[str, Any] = {
    "namespace": "work",
    "session_id": "s",
    "category": "job",
    "kind": "fact",
    "confidence": 0.7,
    "importance": 0.6,
    "intensity": 0.5,
    "topics": ["rowing"],
    "metadata": {"from": "the club"},
}


def test_an_updates_text_is_described_as_the_one_that_spoke_until_then(runtime: Runtime) -> None:
    row = {"owner_id": "ann", "text": "Ann rows", "occurred_at": "2025-12-01T00:00:00Z", **SAID}
    a = str(runtime.submit(row)[0].candidate_id)
    entries = runtime.writer.owners.get("ann").ledger.entries
    fields = {**structs.asdict(entries[a].fields)}
    for text, metadata in (("Ann sails", None), ("Ann swims", {}), ("Ann dives", None)):
        answer = ask(runtime, request(a, text, metadata=metadata))
        new = structs.asdict(entries[answer["candidate_id"]].fields)
        if metadata is not None:
            fields["metadata"] = metadata
        of_its_own = ("id", "source", "session_id", "occurred_at")
        assert {k: v for k, v in new.items() if k not in of_its_own} == {
            k: v for k, v in fields.items() if k not in of_its_own
        }
        assert (new["session_id"], new["occurred_at"]) == (None, None)


def test_while_the_model_is_down_an_updates_text_waits_for_its_vector(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=load_policy("namespaced")) as runtime:
        [one] = submit(runtime, "Ann rows")
        ask(runtime, request(str(one.candidate_id), f"Ann sails {fresh()} unplugged"))
        assert runtime.log.verifications.unembedded("ann") == 1


def test_another_wording_of_its_own_merges_it_with_nobody(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, b = pair
    ask(runtime, merge(a, b))
    answer = ask(runtime, request(a, "Ben bakes bread"))
    assert (answer["changed"], answer["merged"]) == (True, None)


def test_a_text_that_lives_elsewhere_makes_one_of_two_where_that_is_said(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, b = pair
    with pytest.raises(RefusedError) as refused:
        ask(runtime, request(a, "Ben bakes bread"))
    assert refused.value.reason == "lives_elsewhere"
    shown = dry_run(runtime, request(a, "Ben bakes bread", dry_run=True))
    said = request(a, "Ben bakes bread", merge=True)
    answer = ask(runtime, said)
    assert shown["merged"] == answer["merged"] == b
    assert answer["decision_id"] == answer["events"][-1]
    assert ask(runtime, said) == answer
    undo = UndoRequest(request_id=fresh(), decision_id=answer["decision_id"])
    undone = ask(runtime, undo)
    assert undone["candidate_id"] is None, "the text did not come with the update"
    assert {memory["memory_id"] for memory in undone["memories"]} == {a, b}
    assert ask(runtime, undo) == undone


def test_a_text_that_only_a_retracted_memory_has_lives_nowhere(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, b = pair
    ask(runtime, RetractRequest(request_id=fresh(), selection=Selection(candidate_id=b)))
    answer = ask(runtime, request(a, "Ben bakes bread"))
    assert (answer["changed"], answer["merged"]) == (True, None)


def test_undone_by_any_candidate_it_is_the_last_update_of_its_memory(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, _ = pair
    [again] = submit(runtime, " Ann rows")
    assert again.decision == "hash_exact"
    answer = ask(runtime, request(a, "Ann sails"))
    undone = ask(runtime, UndoRequest(request_id=fresh(), candidate_id=again.candidate_id))
    assert undone["decision_id"] == answer["decision_id"]
    assert undone["candidate_id"] == answer["candidate_id"]
    assert [memory["face"] for memory in undone["memories"]][:1] == ["Ann rows"]


def test_what_was_joined_otherwise_is_no_update(runtime: Runtime, pair: tuple[str, str]) -> None:
    a, b = pair
    joined = ask(runtime, merge(a, b))["decision_id"]
    for named in ({"decision_id": joined}, {"candidate_id": b}):
        with pytest.raises(RefusedError) as refused:
            ask(runtime, UndoRequest(request_id=fresh(), **named))
        assert refused.value.reason == "no_update"


def test_nobodys_memory_is_changed_or_forgotten_for_another_owner(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, _ = pair
    [bobs] = submit(runtime, "Bob sings", owner="bob")
    changed = ask(runtime, request(a, "Ann sails"))["decision_id"]
    count = runtime.log.count()
    for other in (
        request(a, "Ann swims", owner_id="bob"),
        UndoRequest(request_id=fresh(), decision_id=changed, owner_id="bob"),
        ForgetRequest(request_id=fresh(), memory_ids=(a,), owner_id="bob"),
        ForgetRequest(request_id=fresh(), memory_ids=(a, str(bobs.candidate_id))),
    ):
        with pytest.raises(RefusedError):
            ask(runtime, other)
    assert runtime.log.count() == count


# -- forgetting ------------------------------------------------------------------------------------


def test_a_forgetting_answers_the_same_again_and_is_remembered_once(
    runtime: Runtime, pair: tuple[str, str]
) -> None:
    a, b = pair
    joined = merge(a, b)
    ask(runtime, joined)
    said = ForgetRequest(request_id=fresh(), memory_ids=(a, b))
    answer = ask(runtime, said)
    assert len(answer["memories"]) == 1
    assert answer["candidates"] == [a, b]
    assert ask(runtime, said) == answer
    back = ask(runtime, RestoreRequest(request_id=fresh(), forgotten=said.request_id))
    assert back["restored"] == [a, b]
    with pytest.raises(RefusedError) as refused:
        ask(runtime, RestoreRequest(request_id=fresh(), forgotten=said.request_id))
    assert refused.value.reason == "not_retracted"


@pytest.mark.parametrize("name", ["no id", "00000000-0000-5000-8000-000000000000"])
def test_what_was_never_forgotten_is_not_remembered(runtime: Runtime, name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        ask(runtime, RestoreRequest(request_id=fresh(), forgotten=name))
    assert refused.value.reason == "unknown_decision"


ASKING = CosineCheck(check="cosine", zones=(Zone(at_least=0.5, action="pending"),))
"""Whatever is near is gray."""


@pytest.mark.parametrize(
    ("rank", "again", "rules"),
    [
        ("agent", None, ("allow", "refuse")),
        ("agent", "allow", ("allow", None)),
        ("agent", "ask", ("ask", None)),
        ("person", None, ("ask", None)),
    ],
)
def test_what_happened_earlier_is_refused_where_an_agent_says_nothing_of_it(
    runtime: Runtime, pair: tuple[str, str], rank: str, again: str | None, rules: tuple[str, str]
) -> None:
    said = {"request_id": fresh(), "memory_ids": pair[:1], "rank": rank, "again": again}
    ask(runtime, ForgetRequest.model_validate(said))
    event = runtime.log.after(runtime.log.head() - 1)[0].event
    assert isinstance(event, Retracted)
    assert (event.data.again, event.data.earlier) == rules


def test_a_forgetting_names_whose_question_is_about_it_or_is_its_own(tmp_path: Path) -> None:
    rules = load_policy("standard").model_copy(update={"checks": (ASKING,)})
    with Runtime(tmp_path / "log.sqlite", policy=rules) as runtime:
        a, b, far = (
            str(one.candidate_id)
            for one in submit(runtime, "Ann has a red boat", "Ann has a blue boat", "tea at five")
        )

        def waits(*ids: str) -> list[str]:
            said = ForgetRequest(request_id=fresh(), memory_ids=ids, dry_run=True)
            return [one["candidate_id"] for one in dry_run(runtime, said)["waits"]]

        assert (waits(a), waits(b), waits(far)) == ([b], [b], [])
        ask(runtime, RetractRequest(request_id=fresh(), selection=Selection(candidate_id=b)))
        assert waits(a) == []
