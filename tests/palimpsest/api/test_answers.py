"""The facade's answers have the declared types, key by key; so do its asynchronous twin's."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, assert_type

import pytest
from pydantic import TypeAdapter

from palimpsest import AsyncPalimpsest, Palimpsest
from palimpsest.contracts import answers
from palimpsest.contracts.requests import JoinSelection, Selection
from palimpsest.server.typed_dicts import readable
from palimpsest.streams.policies import load_policy

ALL = JoinSelection(source="python")


def is_a(kind: Any, answer: Any) -> Any:
    """The answer, after checking that it has exactly a type's keys, with values of their types."""
    adapter = TypeAdapter(readable(kind))
    assert adapter.dump_python(adapter.validate_python(answer, strict=True)) == answer
    return answer


def both(kind: Any, ask: Callable[..., Any], **said: Any) -> Any:
    """Check the answer of a dry run, then of the call itself; return the latter."""
    is_a(kind, ask(dry_run=True, **said))
    return is_a(kind, ask(**said))


def test_answers_have_the_shape_that_their_types_say(memories: Palimpsest) -> None:
    memories.set_policy(load_policy("replace-or-merge"))
    texts = ("tea in the shed", "a blue car", "she paints")
    said = memories.submit([{"owner_id": "ann", "text": text} for text in texts])
    a, b, c = [str(one.candidate_id) for one in said]
    join = is_a(answers.Merged, memories.merge(a, b))["decision_id"]
    is_a(answers.Agreed, memories.confirm(join))
    is_a(answers.Apart, memories.separate(a, c))
    is_a(answers.Apart, memories.withdraw(a, c))
    out = both(answers.Unmerged, memories.unmerge, decision_id=join)
    assert out["reversed"] == [join]
    is_a(answers.PutBack, memories.reinstate(join, dry_run=True))
    is_a(answers.PutBack, memories.reinstate(join))
    is_a(answers.Unmerged, memories.unmerge(decision_id=join, with_consequences=True))
    is_a(answers.PutBack, memories.reinstate(join))
    assert both(answers.Reversals, memories.reverse, selection=ALL)["reversed"] == [join]
    assert both(answers.Reinstatements, memories.reinstate_many, selection=ALL)["owners"] == 1
    one = Selection(candidate_id=c)
    assert both(answers.Retractions, memories.retract, selection=one)["retracted"] == [c]
    assert both(answers.Restorations, memories.restore, selection=one)["restored"] == [c]
    both(answers.Updated, lambda **how: memories.update(c, "she sings", **how))
    both(answers.Undone, lambda **how: memories.undo(c, **how))
    gone = both(answers.Forgotten, lambda **how: memories.forget(c, **how))
    back = both(answers.Restorations, memories.restore, forgotten=gone["forgotten"])
    assert [memory["face"] for memory in back["memories"]] == ["she paints"]


def test_a_confirmation_shows_the_memory_of_a_decision_that_joined_nothing(
    memories: Palimpsest,
) -> None:
    [said] = memories.submit([{"owner_id": "ann", "text": "tea in the shed"}])
    agreed = memories.confirm(str(said.decision_id))
    assert [one["face"] for one in agreed["memories"]] == ["tea in the shed"]


def test_the_twin_answers_with_the_same_types(memories: Palimpsest) -> None:
    async def used() -> None:
        twin = AsyncPalimpsest(memories)
        rows = [{"owner_id": "ann", "text": text} for text in ("tea in the shed", "a blue car")]
        a, b = [str(one.candidate_id) for one in await twin.submit(rows)]
        joined = await twin.merge(a, b)
        assert_type(joined, answers.Merged)
        out = await twin.unmerge(decision_id=joined["decision_id"])
        assert_type(out, answers.Unmerged)
        back = await twin.reinstate(joined["decision_id"])
        assert_type(back, answers.PutBack)
        assert out["reversed"] == back["reinstated"] == [joined["decision_id"]]
        assert_type(await twin.reverse(ALL), answers.Reversals)
        assert_type(await twin.retract(Selection(candidate_id=b)), answers.Retractions)
        restored = await twin.restore(Selection(candidate_id=b))
        assert_type(restored, answers.Restorations)
        assert restored["restored"] == [b]

    asyncio.run(used())


def test_an_outcome_says_that_a_forgotten_text_is_not_recalled(memories: Palimpsest) -> None:
    said = {"owner_id": "ada", "text": "Ada lives at 5 Elm Street"}
    [first] = memories.submit({**said, "id": "first"})
    assert first.memory_id is not None
    assert first.reason is None
    memories.forget(first.memory_id, again="ask", by="person")
    again = {**said, "id": "again"}
    waits = [memories.submit(again)[0], memories.submit(again)[0]]
    assert [(one.result, one.decision, one.reason) for one in waits] == [
        ("decided", "pending", "forgotten"),
        ("known", "pending", "forgotten"),
    ]
    [sent_again] = memories.submit({**said, "id": "first"})
    assert (sent_again.result, sent_again.reason) == ("known", "forgotten")
    memories.restore(Selection(candidate_id=str(waits[0].candidate_id)))
    [let_in] = memories.submit(again)
    assert (let_in.result, let_in.reason) == ("known", None)


@pytest.mark.parametrize("name", ["ttl", "expires_at", "expiration_date"])
def test_no_expiry_and_metadata_of_its_name_end_no_memory(memories: Palimpsest, name: str) -> None:
    said = {"owner_id": "ada", "text": "Ada's code is 12", "metadata": {name: 1}}
    for row in (said, {**said, name: None}):
        assert memories.submit(row)[0].result == "decided"


def test_unknown_fields_are_kept_with_a_warning_that_names_them(memories: Palimpsest) -> None:
    row = {"owner_id": "ada", "text": "Ada skis", "created_at": "2026-01-01T00:00:00Z"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memories.submit(row)
    with pytest.warns(UserWarning, match="kept as metadata: categroy, colour;"):
        memories.submit({**row, "colour": "red", "categroy": "sport"})
    assert memories.list("ada")["memories"][0]["metadata"] == {"colour": "red", "categroy": "sport"}


def test_outcomes_are_read_by_key_as_other_answers_are(memories: Palimpsest) -> None:
    [outcome] = memories.submit({"owner_id": "ada", "text": "she paints"})
    assert outcome["memory_id"] == memories.list("ada")["memories"][0]["memory_id"]
    assert dict(outcome) == asdict(outcome)
    with pytest.raises(KeyError):
        outcome["keys"]
