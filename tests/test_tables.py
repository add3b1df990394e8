"""A table that is one test fails with every row that fails."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from tests.tables import each


def test_every_row_is_tried_with_the_fixtures() -> None:
    seen = []

    @each("number", range(3))
    @each(("one", "other"), [(10, 20), (30, 40)])
    def differ_by_ten(tmp_path: Path, number: int, one: int, other: int) -> None:
        assert tmp_path == Path("made")
        assert other - one == 10
        seen.append(number + one)

    assert [*signature(differ_by_ten).parameters] == ["tmp_path"]
    differ_by_ten(tmp_path=Path("made"))
    assert seen == [10, 30, 11, 31, 12, 32]


def test_all_rows_that_fail_are_reported() -> None:
    @each("number", range(4))
    def is_even(number: int) -> None:
        assert number % 2 == 0

    with pytest.raises(ExceptionGroup) as failed:
        is_even()
    assert [error.__notes__ for error in failed.value.exceptions] == [
        ["with {'number': 1}"],
        ["with {'number': 3}"],
    ]


def test_a_row_that_raises_nothing_is_reported_with_the_others() -> None:
    """pytest's own failures are no exceptions, but no reason either to leave out other rows."""

    @each("more", [1, 0])
    @each("number", range(3))
    def is_refused(number: int, more: int) -> None:
        with pytest.raises(ZeroDivisionError):
            1 / (number * more)

    with pytest.raises(BaseExceptionGroup) as failed:
        is_refused()
    [alone] = failed.value.exceptions
    assert isinstance(alone, BaseExceptionGroup)
    assert [error.__notes__ for error in alone.exceptions] == [
        ["with {'number': 1}"],
        ["with {'number': 2}"],
    ]
