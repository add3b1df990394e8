"""Requests about a whole memory look at each of its members a fixed number of times."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.contracts.requests import (
    JoinSelection,
    MergeRequest,
    ReinstateManyRequest,
    UnmergeRequest,
)
from palimpsest.streams.write.serve import execute
from tests.streams.write.runtime import Runtime, memories

FEW, MANY = 30, 120
MOST = 1.3 * MANY / FEW
"""How many times as many lines are run for `MANY` members as for `FEW`."""

_joins = random.Random(39)
SHAPES: dict[str, Callable[[int], int]] = {
    "chain": lambda newer: newer - 1,
    "star": lambda _: 0,
    "tree": _joins.randrange,
}
"""Which earlier one a candidate is joined to, by its number."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_memory_taken_apart_comes_back_in_as_many_steps_as_it_has_joins(
    tmp_path: Path, shape: str
) -> None:
    few, many = (_lines_of_reinstating(tmp_path, SHAPES[shape], n) for n in (FEW, MANY))
    assert many <= MOST * few


def _lines_of_reinstating(folder: Path, joined_to: Callable[[int], int], members: int) -> int:
    with Runtime(folder / f"{members}.sqlite") as runtime:
        texts = ({"owner_id": "ann", "text": f"note {n}", "id": str(n)} for n in range(members))
        ids = [str(one.candidate_id) for one in runtime.submit(*texts)]
        for newer in range(1, members):
            pair = MergeRequest(request_id=str(uuid4()), a=ids[newer], b=ids[joined_to(newer)])
            execute(runtime.writer, pair)
        runtime.writer.commit()
        whole = memories(runtime.log)
        apart = UnmergeRequest(request_id=str(uuid4()), memory_id=ids[0], rank="person")
        taken = execute(runtime.writer, apart)
        runtime.writer.commit()
        many = ReinstateManyRequest(
            request_id=str(uuid4()), selection=JoinSelection(cause=taken["cause"])
        )
        lines = _lines_run(lambda: execute(runtime.writer, many))
        runtime.writer.commit()
        assert memories(runtime.log) == whole
        return lines


def _lines_run(call: Callable[[], object]) -> int:
    """The lines of Python that a call runs, each as often as it is run."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines
