"""Tables of small cases, each of them one test: the fixed costs of a test exceed a case's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but all rows are one test, which reports every row that fails.

    The rows share the test's fixtures.
    """
    if isinstance(names, str):
        names, rows = (names,), ((row,) for row in rows)
    cases = [dict(zip(names, row, strict=True)) for row in rows]
    assert cases

    def decorate(test: Test) -> Test:
        @wraps(test)
        def try_all(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for case in cases:
                try:
                    test(**case, **fixtures)
                # What `pytest.raises` fails with is no `Exception`.
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all are raised together
                    error.add_note(f"with {case}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} rows fail", failed)

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in names]
        vars(try_all)["__signature__"] = signature.replace(parameters=kept)
        return try_all

    return decorate
