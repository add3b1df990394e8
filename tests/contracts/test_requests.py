"""A request that could not be carried out is refused when it is made."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import ValidationError

from palimpsest.contracts.commands import Operation
from palimpsest.contracts.requests import REQUEST, AccessRequest, OneCommand, Request
from tests.tables import each

ID = "0b6a0f6e-4b0e-4d0e-9a63-70616c696d70"


@pytest.mark.parametrize("request_id", ["", "r", "no uuid", ID[:-1], "ä" * 36, f"{ID}-1"])
def test_a_request_id_that_is_no_uuid_is_reported(request_id: str) -> None:
    with pytest.raises(ValidationError, match="must be a UUID"):
        AccessRequest(request_id=request_id, candidate_id="a")
    with pytest.raises(ValidationError, match="must be a UUID"):
        REQUEST.validate_python(
            {"request": "access", "request_id": request_id, "candidate_id": "a"}
        )


@pytest.mark.parametrize("spelled", [ID, ID.upper(), f"urn:uuid:{ID}", ID.replace("-", "")])
def test_one_request_id_may_be_spelled_in_several_ways(spelled: str) -> None:
    """Asking again must find what was done, however the id was written the second time."""
    assert AccessRequest(request_id=spelled, candidate_id="a").request_id == ID


@pytest.mark.parametrize(
    "said",
    [
        {"request": "retract", "selection": {"source": "bot", "owner": "ada"}},
        {"request": "reverse", "selection": {"owner_id": "ada", "under": 0.9}},
        {"request": "unmerge", "decision_id": "d", "dryrun": True},
        {"request": "confirm", "decision_id": "d", "on_behalf_of": "eve"},
    ],
)
def test_what_is_not_known_is_refused(said: dict[str, object]) -> None:
    """A key that is dropped widens what is asked: to all owners, or from a dry run to the act."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        REQUEST.validate_python(said | {"request_id": ID})


@pytest.mark.parametrize("request_name", ["retract", "restore", "reverse"])
def test_a_selection_of_nothing_would_mean_everything(request_name: str) -> None:
    with pytest.raises(ValidationError, match="at least one criterion"):
        REQUEST.validate_python({"request": request_name, "request_id": ID, "selection": {}})


@pytest.mark.parametrize(
    "said",
    [
        {"request": "unmerge"},
        {"request": "unmerge", "decision_id": "d", "memory_id": "m"},
        {"request": "unmerge", "candidate_id": "c", "memory_id": "m"},
        {"request": "undo"},
        {"request": "undo", "decision_id": "d", "candidate_id": "c"},
        {"request": "restore"},
        {"request": "restore", "forgotten": "f", "selection": {"source": "bot"}},
    ],
)
def test_what_names_nothing_or_two_things_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="name e"):
        REQUEST.validate_python(said | {"request_id": ID})


def test_verdicts_of_a_newer_version_are_still_understood() -> None:
    """They are evidence, which only grows: what a request asks for is all that is strict."""
    verdict = {"neighbour_id": "b", "answer": "same", "mood": "calm"}
    said = {"request": "settle", "request_id": ID, "candidate_id": "a", "verdicts": [verdict]}
    assert REQUEST.validate_python(said).request == "settle"


@each("kind", get_args(OneCommand))
def test_a_request_that_is_one_command_has_nothing_that_the_command_lacks(
    kind: type[Request],
) -> None:
    """But its id, what was asked, who judged, and a text without a vector: that is composed."""
    composed = {"composed", "sources", "text"} & kind.model_fields.keys()
    wanted = kind.model_fields.keys() - {"request", "request_id", "asked", "judge"} - composed
    names = get_args(kind.model_fields["request"].annotation)
    assert names
    for name in names:
        command = fields_of(name)
        assert wanted <= command
        assert bool(composed) is ("composition" in command)


def fields_of(name: str) -> set[str]:
    """The fields of a command, by the name of its kind."""
    [command] = (
        kind
        for kind in get_args(get_args(Operation)[0])
        if kind.model_fields["command"].default == name
    )
    return set(command.model_fields)
