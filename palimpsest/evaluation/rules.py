"""What a threshold on a score would join or call different, derived from the evidence of one run.

The policy's own checks run once, wide open, so that the recorded evidence has every pair's scores
and the guard's findings. The pairs that a threshold takes follow from that evidence, as in
`palimpsest.streams.core.checks` for a scope of one candidate. Finally the resulting policy decides
on the other half of the labels (`palimpsest.evaluation.calibrate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.evidence import BLIND, Cue, Neighbour
from palimpsest.contracts.policy import Check, CosineCheck, Policy, SessionCheck, TokenCheck, Zone
from palimpsest.evaluation.evaluate import language_of
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.evaluation.trial import TrialDecision
from palimpsest.streams.guard import compare, kept_reading, tables_of

Measure = Literal["cosine", "jaccard", "probability", "cues", "verdict"]
"""`verdict` is a judge's probability, only for pairs to which it gave the tested answer."""
Scores = NDArray[np.float64]
NEVER = float("nan")
"""The score of a pair that no threshold takes."""

LEAST = 0.0001
"""The smallest difference of two recorded scores."""

CUES = (
    Cue.VERSION,
    Cue.NUMBER,
    Cue.DATE,
    Cue.UNIT,
    Cue.NEGATION,
    Cue.ANTONYM,
    Cue.NAME,
    Cue.SWAPPED_ORDER,
    Cue.CASE,
)
"""The cues tested as signs that a pair differs, in an order fixed before seeing any labels."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair's scores and cues, and what its policy may do with it.

    `by_cosine` and `by_jaccard`: whether that score's check may join it at all, at any threshold.
    `asked`: whether the unchanged policy would refer it to the judge.
    """

    pair: LabelledPair
    language: str
    cosine: float
    jaccard: float
    cues: tuple[Cue, ...]
    by_cosine: bool
    by_jaccard: bool
    asked: bool

    def same(self, measure: Measure) -> float:
        """The highest threshold that joins the pair; `NEVER` if its check may not join it."""
        match measure:
            case "cosine":
                return self.cosine if self.by_cosine else NEVER
            case "jaccard":
                return self.jaccard if self.by_jaccard else NEVER
            case "probability":
                return NEVER if self.pair.probability is None else self.pair.probability
            case "verdict":
                return self.same("probability") if self._said("same") else NEVER
            case "cues":
                return NEVER

    def different(self, measure: Measure) -> float:
        """The evidence for *different*: at least 1 - t if and only if the score is below t."""
        match measure:
            case "cosine":
                return 1.0 - LEAST - max(self.cosine, 0.0)
            case "jaccard":
                return 1.0 - LEAST - self.jaccard
            case "probability":
                known = self.pair.probability
                return NEVER if known is None else 1.0 - LEAST - known
            case "verdict":
                return self.different("probability") if self._said("different") else NEVER
            case "cues":
                found = [CUES.index(cue) for cue in self.cues if cue in CUES]
                return 1.0 - min(found) / len(CUES) if found else NEVER

    def _said(self, answer: str) -> bool:
        return self.pair.answer == answer and self.pair.prompt is not None


def wide_open(policy: Policy) -> Policy:
    """The policy with checks that look at every pair, so that all scores are recorded."""
    tokens, cosine = checks_of(policy)
    # The token check makes the guard look at each pair, and the cosine's zone makes the search find
    # all neighbours.
    every: tuple[Check, ...] = (
        (tokens or TokenCheck(check="tokens", threshold=0.0)).model_copy(
            update={"threshold": 0.0, "guard": True, "exclusive": False}
        ),
        (cosine or _NO_COSINE).model_copy(
            update={
                "zones": (Zone(at_least=0.0, action="pending"),),
                "near_identical": None,
                "min_characters": 0,
                "namespaces": {},
            }
        ),
    )
    judge = policy.judge.model_copy(update={"unavailable": "reject"})  # so that the guard is asked
    return policy.model_copy(update={"checks": every, "enabled": True, "judge": judge})


_NO_COSINE = CosineCheck(check="cosine", zones=(Zone(at_least=0.0, action="pending"),))


def checks_of(policy: Policy) -> tuple[TokenCheck | None, CosineCheck | None]:
    """The checks of a policy that have thresholds for two texts of different sessions."""
    by_name = {check.check: check for check in policy.active}
    tokens, cosine = by_name.get("tokens"), by_name.get("cosine")
    assert tokens is None or isinstance(tokens, TokenCheck)
    assert cosine is None or isinstance(cosine, CosineCheck)
    return tokens, cosine


def joins_by_cosine(check: CosineCheck | None) -> Literal["guarded", "score", "never"]:
    """Whether a cosine check joins what the guard accepts, by the score alone, or nothing."""
    if check is None:
        return "never"
    joining = [zone for zone in check.zones if zone.action != "pending"]
    if any(not zone.guard for zone in joining):
        return "score"
    return "guarded" if joining or check.near_identical is not None else "never"


def joins_from(policy: Policy) -> dict[str, float | None]:
    """The lowest Jaccard and cosine at which a policy joins; None for one that joins nothing."""
    tokens, cosine = checks_of(policy)
    least: float | None = None
    if cosine is not None:
        floors = [zone.at_least for zone in cosine.zones if zone.action != "pending"]
        alike = cosine.near_identical
        least = min([*floors, *(() if alike is None else (alike,))], default=None)
    return {"jaccard": tokens.threshold if tokens else None, "cosine": least}


def may_join(policy: Policy) -> Callable[[LabelledPair], bool]:
    """A function that says whether a policy may join a pair, whatever its scores are.

    If both checks ask the guard, this is the guard's answer; otherwise a score alone may join any
    pair.
    """
    tokens, cosine = checks_of(policy)
    if joins_by_cosine(cosine) == "score" or (tokens is not None and not tokens.guard):
        return lambda _: True
    tables = tables_of(policy.languages)

    def passes(pair: LabelledPair) -> bool:
        one, other = (
            kept_reading(text, model=policy.model, tables=tables) for text in (pair.a, pair.b)
        )
        found = compare(one, other)
        return found.near_identical and not found.cues

    return passes


def measure_pair(pair: LabelledPair, decision: TrialDecision, policy: Policy) -> Measured:
    """The measurements of a pair that a wide open policy recorded."""
    tokens, cosine = checks_of(policy)
    near = decision.neighbour
    if near is None:
        return Measured(
            pair, language_of(pair), 0.0, 0.0, (), by_cosine=False, by_jaccard=False, asked=False
        )
    passes = bool(near.near_identical) and not near.cues
    how = joins_by_cosine(cosine)
    long_enough = max(len(pair.a), len(pair.b)) >= (cosine.min_characters if cosine else 0)
    told_apart = BLIND.isdisjoint(near.cues)
    by_cosine = long_enough and near.cosine is not None
    by_cosine = by_cosine and {"guarded": passes, "score": told_apart, "never": False}[how]
    found = Measured(
        pair,
        language_of(pair),
        cosine=min(near.cosine or 0.0, 1.0 if near.covered is None else near.covered),
        jaccard=near.jaccard or 0.0,
        cues=near.cues,
        by_cosine=by_cosine,
        by_jaccard=tokens is not None and (passes or not tokens.guard),
        asked=False,
    )
    return replace(found, asked=_asked(found, near, tokens, cosine if long_enough else None))


def _asked(
    found: Measured, near: Neighbour, tokens: TokenCheck | None, cosine: CosineCheck | None
) -> bool:
    """Whether no check of the unchanged policy joins the pair, but one refers it to the judge."""
    by_words = tokens is not None and tokens.is_reached(found.jaccard)
    if by_words and found.by_jaccard:
        return False
    score = near.cosine or 0.0
    zones = cosine.zones if cosine else ()
    zone = next((zone for zone in zones if score >= zone.at_least), None)
    proof = cosine.near_identical if cosine else None
    passes = bool(near.near_identical) and not near.cues
    proven = proof is not None and passes and found.cosine >= proof
    joins = zone is not None and zone.action != "pending" and found.cosine >= zone.at_least
    if proven or (joins and zone is not None and (passes or not zone.guard) and found.by_cosine):
        return False
    return by_words or zone is not None


def with_thresholds(
    policy: Policy, jaccard: float | None, cosine: float | None, floor: float | None
) -> Policy:
    """The policy with other thresholds: joins from `jaccard` or `cosine` on, asks from `floor` on.

    A threshold of None leaves its check unchanged, and a floor of None the zones that ask. The
    session's check, which no labels cover, then joins no more than the cosine check.
    """

    def changed(check: Check) -> Check:
        match check:
            case TokenCheck() if jaccard is not None:
                return check.model_copy(update={"threshold": jaccard, "exclusive": False})
            case CosineCheck():
                return _moved(check, cosine, floor)
            case SessionCheck() if cosine is not None:
                return check.model_copy(update={"threshold": max(check.threshold, cosine)})
            case _:
                return check

    return policy.model_copy(update={"checks": tuple(map(changed, policy.checks))})


def _moved(check: CosineCheck, cosine: float | None, floor: float | None) -> CosineCheck:
    zones: list[Zone] = []
    for zone in check.zones:
        joins = zone.action != "pending"
        at = zone.at_least
        if joins and cosine is not None:
            at = cosine if joins_by_cosine(check) == "score" else max(at, cosine)
        if floor is not None and (zone.guard or not joins):  # what the guard stops is also asked
            at = max(at, floor) if joins else floor
        if not zones or at < zones[-1].at_least:
            zones.append(zone.model_copy(update={"at_least": at}))
    update: dict[str, object] = {"zones": tuple(zones)}
    if cosine is not None:
        update["namespaces"] = {}
        if joins_by_cosine(check) == "guarded":
            update["near_identical"] = cosine
    return check.model_copy(update=update)


def scores(pairs: Sequence[Measured], measure: Measure, *, same: bool) -> Scores:
    """The scores by which pairs are joined or, if not `same`, called different; shape (pairs,)."""
    ask = Measured.same if same else Measured.different
    return np.array([ask(pair, measure) for pair in pairs], np.float64)
