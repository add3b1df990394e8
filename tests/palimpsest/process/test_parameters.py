"""Arguments are bound as Python binds them, by the short way and by the long one."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.process.parameters import check_arguments


class More(TypedDict, total=False):
    """Keywords of the function below."""

    limit: int


@check_arguments
def call(first: str, second: int = 2, *, third: bool, **more: Unpack[More]) -> tuple[Any, ...]:
    return first, second, third, more


@pytest.mark.parametrize(
    ("args", "kwargs", "found"),
    [
        (("a",), {"third": True}, ("a", 2, True, {})),
        (("a", 1), {"third": True, "limit": 3}, ("a", 1, True, {"limit": 3})),
        ((), {"third": True, "first": "a"}, ("a", 2, True, {})),
    ],
)
def test_a_right_call_is_made(args: Any, kwargs: Any, found: Any) -> None:
    assert call(*args, **kwargs) == found


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {"third": True}, "missing a required argument: 'first'"),
        (("a",), {}, "missing a required argument: 'third'"),
        (("a", 1, True), {}, "too many positional arguments"),
        (("a",), {"first": "b", "third": True}, "multiple values for argument 'first'"),
        (("a",), {"third": True, "fourth": 1}, "unexpected keyword argument 'fourth'"),
        (("a",), {"third": True, "more": {"limit": 1}}, "unexpected keyword argument 'more'"),
        (("a",), {"third": True, "limit": "b"}, "`limit`"),
        ((1,), {"third": True}, "`first`"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(args: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call(*args, **kwargs)
