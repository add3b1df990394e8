"""What the judge is asked about: texts of candidates with their times, and what it composed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from palimpsest.contracts.evidence import Verdict


@dataclass(frozen=True, slots=True)
class Side:
    """One text that is looked at: a candidate's, or the face of its memory.

    `moment` is when that happened, as far as is known, else when it was recorded.
    """

    candidate_id: str
    text: str
    moment: datetime

    @property
    def hash(self) -> str:
        """SHA-256 of the text as it is, in hex: what a verdict is remembered by."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of one owner, by their moments; those of a review by their arrival."""

    older: Side
    newer: Side


@dataclass(frozen=True, slots=True)
class Composed:
    """A text made of several, and what it cost.

    `text` is None where there is none: `verdict.answer` then says `unavailable` or `unusable`. An
    empty text is an answer: the model found nothing to compose, and nothing is merged.
    """

    text: str | None
    verdict: Verdict
