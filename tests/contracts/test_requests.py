"""A request that could not be carried out is refused where it is made."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from contracts.requests import REQUEST, AccessRequest

ID = "0b6a0f6e-4b0e-4d0e-9a63-70616c696d70"


@pytest.mark.parametrize("request_id", ["", "r", "no uuid", ID[:-1], "ä" * 36, f"{ID}-1"])
def test_a_request_id_that_is_no_uuid_is_told(request_id: str) -> None:
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
