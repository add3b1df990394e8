"""What a decision rested on: neighbours, scores, cues, verdicts, versions (docs/design.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import structs

from palimpsest.contracts.light import Light, serializer


class Cue(StrEnum):
    """A token-level sign that two close texts differ in fact, or that the model cannot tell."""

    NUMBER = "number"
    DATE = "date"
    UNIT = "unit"
    VERSION = "version"
    NEGATION = "negation"
    SWAPPED_ORDER = "swapped_order"
    NAME = "name"
    ANTONYM = "antonym"
    CASE = "case"
    UNKNOWN_TOKEN = "unknown_token"
    TRUNCATED = "truncated"


STRONG_CUES = frozenset({Cue.NUMBER, Cue.DATE, Cue.UNIT, Cue.VERSION, Cue.NEGATION})
"""Cues that most often mean an update of a fact, not a rewording (docs/design.md)."""

BLIND = frozenset({Cue.UNKNOWN_TOKEN, Cue.TRUNCATED})
"""Cues that the model cannot tell: no policy joins such a pair by its cosine (docs/design.md)."""


class Neighbour(Light):
    """A candidate that was looked at, with its scores (four decimals) and what the guard saw.

    `near_identical` is None where the guard was not asked; `cues` is then empty. A neighbour that
    comes with it was compared before, and is not compared again. `covered`, if one of the texts is
    longer than the model's input, is the lowest cosine of any window of either with its nearest in
    the other; None where not all of both is embedded. `frame` is set if it is of the newcomer's
    frame: `only` if it was found by that alone, `also` if its scores brought it in, too.
    """

    candidate_id: str
    cosine: float | None = None
    jaccard: float | None = None
    near_identical: bool | None = None
    cues: tuple[Cue, ...] = ()
    covered: float | None = None
    frame: Literal["only", "also"] | None = None


Answer = Literal["different", "same", "update", "compose", "unavailable", "unusable"]
"""What the judge said of a pair; `unavailable`: nobody answered, `unusable`: no valid answer."""


class RecordedFirstJudge(Light):
    """The first of two judges, as `RecordedJudge`.

    `certificate` is the digest of the labels by which its answers settle: *same* from the
    probability `same` on, *different* below `different`.
    """

    protocol: str
    model: str
    platform: str | None = None
    address: str | None = None
    certificate: str | None = None
    same: float | None = None
    different: float | None = None


class RecordedJudge(Light):
    """Who answers a store's questions: what was configured, without anything that is secret.

    `address` is scheme, host and port of the service alone: a key may stand anywhere else in a URL.
    `platform` is whose cloud serves the vendor's models, if not the vendor. `first` is the judge
    that is asked before this one, if there are two.
    """

    protocol: str
    model: str
    platform: str | None = None
    address: str | None = None
    review_model: str | None = None
    first: RecordedFirstJudge | None = None

    @property
    def hash(self) -> str:
        """`sha256:` and 16 hex digits of all this, by which verdicts name it."""
        said = serializer(RecordedJudge).to_json(self, exclude_none=True)
        return "sha256:" + hashlib.sha256(said).hexdigest()[:16]


class FirstAnswer(Light):
    """What the first of two judges said of a pair; it settled nothing. Fields as in `Verdict`."""

    answer: Answer
    reasoning: str | None = None
    model: str | None = None
    prompt: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    calls: float | None = None
    probability: float | None = None
    protocol: str | None = None
    remote: bool | None = None


class Verdict(Light):
    """The judge's answer about a candidate and one neighbour, with what it cost.

    `calls` are those to the service, in parts where pairs shared one; 0: it was known already.
    `speaker` is whose text was compared: the neighbour, the candidate that spoke for its memory, or
    the event that composed. One that names none is about the text that a search finds when it
    arrives: under `search: candidates` the neighbour's own, or that of its last update, else the
    memory's face. `probability` is what the judge gave for *the same*, where it gives one. `model`
    is the one that answered, as its answer names it. What a judge does not say is unknown: None.
    `protocol` is the service's, and `remote` whether it is on another network. Of two judges,
    `first` is what the other one said before; `certificate` is the digest of the labels by which
    an answer of the first settles. `judge` is the hash of who was configured, the first included.
    """

    neighbour_id: str
    answer: Answer
    reasoning: str | None = None
    model: str | None = None
    prompt: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    calls: float | None = None
    speaker: str | None = None
    probability: float | None = None
    protocol: str | None = None
    remote: bool | None = None
    first: FirstAnswer | None = None
    certificate: str | None = None
    judge: str | None = None

    @property
    def before(self) -> Verdict | None:
        """What the first judge said, as a verdict on the same neighbour."""
        if self.first is None:
            return None
        first = structs.asdict(self.first)
        return Verdict(neighbour_id=self.neighbour_id, judge=self.judge, **first)


def deciding(verdicts: Sequence[Verdict], joined: str | None) -> Verdict | None:
    """The verdict that a decision rests on: that on the joined neighbour, else the first."""
    found = (verdict for verdict in verdicts if verdict.neighbour_id == joined)
    return next(found, verdicts[0] if verdicts else None)


class Evidence(Light):
    """Why a decision was made: enough to explain it and to make it again without a model.

    `asked` are the neighbours handed to the judge, best first; `down` what could not be done, such
    as `search`, if the policy continues without it; `similar` the similar facts of a newcomer that
    joined nothing, most similar first. `guard` is the hash of the guard that compared the texts:
    None if it was not asked, or if the decision is older than the field. `differs` is what an exact
    repeat differs in that is not verbatim: `sentence_case`, `case`, `white_space`, `compatibility`.
    `nearest` is the nearest of all by cosine, however far, of a newcomer that was `stored`: None if
    nothing was searched, if there was nobody, or if the decision is older than the field. It is no
    neighbour: nothing was decided by it, and no replay compares it.
    """

    policy: str
    check: str | None = None
    neighbours: tuple[Neighbour, ...] = ()
    asked: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    down: tuple[str, ...] | None = None
    similar: tuple[str, ...] | None = None
    guard: str | None = None
    differs: tuple[str, ...] | None = None
    nearest: Neighbour | None = None
