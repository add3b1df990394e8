"""The texts that the judge compares, and its answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.streams.judge.models import NOTHING, Cost

FAILED: frozenset[Answer] = frozenset({"unavailable", "unusable"})
"""Answers that settle nothing."""


@dataclass(frozen=True, slots=True)
class Side:
    """One text of a comparison: a candidate's, or the face of its memory.

    `moment` is when it happened or, if that is unknown, when it was recorded. A `local` text is not
    sent to a remote service.
    """

    candidate_id: str
    text: str
    moment: datetime
    local: bool = False

    @property
    def hash(self) -> str:
        """SHA-256 of the text as it is, in hex; cached answers are keyed by it."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two texts of one owner, ordered by moment; a review orders them by arrival."""

    older: Side
    newer: Side

    @property
    def local(self) -> bool:
        """Whether either text is local."""
        return self.older.local or self.newer.local


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """The judge's answer about a pair or a composition, and its cost.

    `text` is set only for a composition. `probability` is that of *the same*, and `model` is the
    model that answered, if the answer names it. A cached answer costs nothing.
    """

    answer: Answer
    reason: str | None = None
    cost: Cost = NOTHING
    text: str | None = None
    probability: float | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class CompositionAnswer:
    """One text composed from several, with the verdict that records its cost.

    `text` is None if there is none; `verdict.answer` is then `unavailable` or `unusable`. An empty
    text is an answer: the model found nothing to compose, and nothing is merged.
    """

    text: str | None
    verdict: Verdict
