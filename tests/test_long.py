"""Parameters that are left to CI."""

from __future__ import annotations

import pytest

from tests.long import long_but


def test_what_is_kept_is_one_of_the_parameters() -> None:
    """With another, `make test` would silently try none."""
    with pytest.raises(AssertionError, match="swop"):
        long_but("swop", of=["swap", "tidy"])
    kept, left = long_but("swap", of=iter(["swap", "tidy"]))
    assert [not kept.marks, [mark.name for mark in left.marks]] == [True, ["long"]]
