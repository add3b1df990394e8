"""URNs: written and read back, whatever an owner or a namespace is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.urn import Urn, is_urn

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


@given(names, names, st.uuids().map(str))
def test_what_is_written_is_read_back(owner_id: str, namespace: str, some_id: str) -> None:
    urn = Urn(owner_id, namespace, some_id)
    assert Urn.parse(str(urn)) == urn
    assert str(urn).isascii()
    assert str(urn).count("/") == 4, "no part has a slash of its own"


def test_letters_are_themselves() -> None:
    assert str(Urn("ada", "tech-debt", "c")) == "palimpsest://ada/tech-debt/c"
    assert str(Urn("a/b", "50% é", "c")) == "palimpsest://a%2Fb/50%25%20%C3%A9/c"


@pytest.mark.parametrize(
    "wrong",
    [
        "palimpsest://",
        "palimpsest://ada/decisions",
        "palimpsest://ada//c",
        "palimpsest://ada/decisions/c/d",
        "subcog://ada/decisions/c",
        "palimpsest://ada/%ff/c",
    ],
)
def test_what_is_no_urn_is_wrong_usage(wrong: str) -> None:
    with pytest.raises(UsageError, match="percent-encoded"):
        Urn.parse(wrong)


def test_a_bare_id_does_not_mean_to_be_one() -> None:
    assert is_urn("palimpsest://ada")
    assert not is_urn("0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
