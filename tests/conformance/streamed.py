"""A stream that one runtime has taken for many tests: they say nothing in its owners' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.runtime import Runtime
from tests.reliability.rows import BROKEN, lines, rows

OWNERS = ("owner 0", "owner 1", "owner 2")
STREAM: Sequence[bytes] = [*lines(rows(90, owners=len(OWNERS)), BROKEN)]


@dataclass(frozen=True)
class Streamed:
    """The runtime, and what became of each row."""

    runtime: Runtime
    outcomes: Sequence[Mapping[str, Any]]
