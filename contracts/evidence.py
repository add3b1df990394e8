"""What a decision rests on: neighbours, scores, cues, verdicts, versions (docs/design.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import structs

from palimpsest.contracts.arguments import ConstructedLight
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
"""Cues of what the model cannot see: no policy joins such a pair by its cosine (docs/design.md)."""


class Neighbour(Light):
    """A candidate that was compared, with its scores (four decimals) and the guard's findings.

    `near_identical` is None if the guard was not asked; `cues` is then empty. If it is set, the
    neighbour has been compared already, and is not compared again. `covered` is set if either text
    is longer than the model's input: every window of either text is scored by its cosine with the
    nearest window of the other, and `covered` is the lowest of these scores; None if a text is not
    embedded whole. `frame` is set if the neighbour shares the newcomer's frame, or states the same
    numbers or words of an owner with names: `only` if that alone found it, `also` if its scores
    did, too.
    """

    candidate_id: str
    cosine: float | None = None
    jaccard: float | None = None
    near_identical: bool | None = None
    cues: tuple[Cue, ...] = ()
    covered: float | None = None
    frame: Literal["only", "also"] | None = None


Answer = Literal["different", "same", "update", "compose", "unavailable", "unusable"]
"""The judge's answer on a pair; `unavailable`: no answer came, `unusable`: it was not valid."""


class RecordedFirstJudge(Light):
    """The first of two judges; fields as in `RecordedJudge`.

    Its answer settles as *same* from the probability `same` on, as *different* below `different`;
    `certificate` is the digest of the labels that these thresholds come from.
    """

    protocol: str
    model: str
    platform: str | None = None
    address: str | None = None
    certificate: str | None = None
    same: float | None = None
    different: float | None = None


class RecordedJudge(Light):
    """The judge that answers a store's questions, as configured, without secrets.

    `address` is only the service's scheme, host and port: the rest of a URL may contain a key.
    `platform` is the cloud that serves the vendor's models, if not the vendor's own. `first` is the
    judge that is asked before this one, if there are two.
    """

    protocol: str
    model: str
    platform: str | None = None
    address: str | None = None
    review_model: str | None = None
    first: RecordedFirstJudge | None = None

    @property
    def hash(self) -> str:
        """`sha256:` and 16 hex digits over all fields; verdicts name the judge by it."""
        said = serializer(RecordedJudge).to_json(self, exclude_none=True)
        return "sha256:" + hashlib.sha256(said).hexdigest()[:16]


class FirstAnswer(Light):
    """The answer of the first of two judges, if it settled nothing. Fields as in `Verdict`."""

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


class Verdict(Light, metaclass=ConstructedLight):
    """The judge's answer about a candidate and one neighbour, with what it cost.

    `calls` is the number of calls to the service, a fraction if pairs shared one, 0 if the answer
    was known already. `speaker` says whose text was compared: the neighbour's, that of the
    candidate that spoke for its memory, or that of the event that composed it. If absent, it is the
    text that a search finds when the verdict arrives: under `search: candidates` the neighbour's
    own or that of its last update, else the memory's face. `probability` is the judge's for *the
    same*, if it gives one. `model` is the model named in the answer. Whatever a judge does not say
    is None. `protocol` is the service's; `remote` says whether it is on another network. If there
    are two judges, `first` is the earlier answer of the first; if that one's answer settles,
    `certificate` is the digest of the labels that its thresholds come from. `judge` is the hash of
    the configured judge, including the first.
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
        """The first judge's answer, as a verdict on the same neighbour."""
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

    `asked` are the neighbours handed to the judge, best first. `down` names what was unavailable,
    such as `search`, if the policy continues without it. `similar` are the similar facts of a
    newcomer that joined nothing, most similar first. `guard` is the hash of the guard that compared
    the texts: None if it was not asked, or if the decision is older than the field. `differs` says
    how an exact repeat that is not verbatim differs: `sentence_case`, `case`, `white_space` or
    `compatibility`. `nearest` is the nearest candidate by cosine, however far, to a newcomer that
    was `stored`: None if nothing was searched, if there was no other candidate, or if the decision
    is older than the field. It is not a neighbour: it decided nothing, and no replay compares it.
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
