"""A wrong argument of anything imported from `palimpsest` is our error: the field, and the cure."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

import palimpsest
from palimpsest import Selection, UsageError, Verdict
from palimpsest.contracts.evidence import FirstAnswer
from tests.tables import each

A = "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"
RIGHT: dict[str, dict[str, Any]] = {
    "Candidate": {"owner_id": "ada", "source": "s", "id": "1", "text": "She sails."},
    "JoinSelection": {"below": 0.5},
    "Policy": {"name": "mine", "model": "m", "search": "candidates", "checks": ()},
    "Selection": {"owner_id": "ada"},
    "SettleRequest": {
        "request_id": A,
        "candidate_id": A,
        "verdicts": (Verdict(neighbour_id=A, answer="same"),),
    },
    "Verdict": {"neighbour_id": A, "answer": "same"},
    "clean": {"data": ["She sails."]},
}
"""What users construct or call, with what each needs."""
OPENED = {
    "Agent": "memories.agent(owner_id)",
    "AsyncPalimpsest": "AsyncPalimpsest.open",
    "Palimpsest": "Palimpsest.open",
}
"""What users get by another call."""
KEEPS_UNKNOWN = {"Candidate"}
"""Unknown fields of a candidate are its metadata."""
WRONG: tuple[Any, ...] = (None, 7, -1.5, "", "no such", [None], {"a": 1}, object())


def public() -> set[str]:
    """All that can be imported and called, but the errors."""
    named = {name: getattr(palimpsest, name) for name in palimpsest.__all__}
    errors = {
        name
        for name, value in named.items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    return named.keys() - errors


def test_everything_public_is_tried() -> None:
    assert public() == {*RIGHT, *OPENED}


@pytest.mark.parametrize("name", RIGHT)
def test_an_unknown_keyword_and_a_missing_one_are_named(name: str) -> None:
    make, right = getattr(palimpsest, name), RIGHT[name]
    make(**right)
    if name not in KEEPS_UNKNOWN:
        with pytest.raises(UsageError, match=f"^{name}: .*'becaus'; it takes .*{[*right][-1]}"):
            make(**right, becaus="so")
    for field in right:
        rest = {key: value for key, value in right.items() if key != field}
        with pytest.raises(UsageError, match=f"^{name}: .*(missing|empty).* it takes .*{field}"):
            make(**rest)


@each(("name", "field"), [(name, field) for name, right in RIGHT.items() for field in right])
def test_a_wrong_value_is_our_error(name: str, field: str) -> None:
    make, refused = getattr(palimpsest, name), 0
    for wrong in WRONG:
        try:
            make(**RIGHT[name] | {field: wrong})
        except palimpsest.PalimpsestError:
            refused += 1
    assert refused


@pytest.mark.parametrize(("name", "way"), OPENED.items())
def test_what_is_opened_says_how(name: str, way: str) -> None:
    for arguments in ((), ("memories",), (1, 2, 3, 4)):
        if (name, arguments) == ("AsyncPalimpsest", ("memories",)):
            continue  # it takes a store
        with pytest.raises(UsageError) as refused:
            getattr(palimpsest, name)(*arguments)
        assert str(refused.value).startswith(f"{name}: ")
        assert way in str(refused.value)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Selection", {"session_id": "x"}, "keyword argument 'session_id'; it takes owner_id"),
        ("Selection", {}, "an empty selection would match everything: name at least one criterion"),
        ("JoinSelection", {"below": 7}, "`below` should be less than or equal to 1"),
        ("Policy", RIGHT["Policy"] | {"checks": [{"check": "x"}]}, "Policy: `checks` "),
        (
            "Verdict",
            {"neighbour_id": A, "answer": "maybe"},
            "`answer` should be 'different', ",
        ),
        ("clean", {"data": [], "within": 2}, "clean: `within` should be less than or equal to 1"),
    ],
)
def test_what_is_reported(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(palimpsest, name)(**given)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["Candidate", "Selection", "Verdict"])
def test_fields_are_given_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: takes its fields by name; it takes "):
        getattr(palimpsest, name)("ada")


def test_what_is_parsed_copied_and_pickled_is_as_before() -> None:
    with pytest.raises(ValidationError, match="session_id"):
        Selection.model_validate({"session_id": "x"})
    verdict = Verdict(neighbour_id=A, answer="same", first=FirstAnswer(answer="different"))
    assert pickle.loads(pickle.dumps(verdict)) == copy.deepcopy(verdict) == verdict
    assert verdict.before is not None
    selection = Selection(owner_id="ada")
    assert pickle.loads(pickle.dumps(selection)) == copy.deepcopy(selection) == selection


@pytest.mark.parametrize("wrong", [{"cost_usd": "1"}, {"calls": True}, {"input_tokens": "5"}])
def test_a_value_that_could_be_converted_is_named_too(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"Verdict: .*{next(iter(wrong))}"):
        Verdict(neighbour_id=A, answer="same", **wrong)
