"""What goes into the writer and what comes out of it, input by input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.streams.intake import Meaning, RawRow


@dataclass(frozen=True, slots=True)
class Input:
    """One row of a producer, and what it means or why it means nothing."""

    row: RawRow
    meaning: Meaning


Result = Literal["decided", "known", "invalid", "heard", "published"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input.

    `decision` is the recorded one, also where the candidate was `known` from before; of a new one
    that was settled at once, because no judge is asked, it is the settlement. Of an invalid input
    `reason` and `detail` say why. `published` ones are decided on by a cluster, later.
    """

    result: Result
    candidate_id: str | None = None
    decision: str | None = None
    decision_id: str | None = None
    joined_to: str | None = None
    memory_id: str | None = None
    reason: str | None = None
    detail: str | None = None
