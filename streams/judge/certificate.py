"""Decides which answers of a first judge settle, by thresholds from `palimpsest calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import Verdict

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class CertifiedAnswer(BaseModel):
    """The threshold of one answer, which the probability of *the same* is compared with.

    Two sets of labels are behind it. In the set that chose the threshold, `taken` answers are
    accepted, and `wrong` of these are wrong. In the set that was held out until then, these are
    `held_out_taken` and `held_out_wrong`; `held_out_bound` is the upper bound of the share of wrong
    ones. If questions are mixed like the labels, at most the share `budget` of the accepted answers
    is wrong, with the certificate's `confidence`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: Share
    budget: Share
    taken: Count
    wrong: Count
    held_out_taken: Count
    held_out_wrong: Count
    held_out_bound: Share


class JudgeCertificate(BaseModel):
    """Thresholds for the answers *same* and *different* of one exact model to one exact prompt.

    `data` is the digest of the labels, and `date` is when they were used. `policy` (its hash),
    `embedder` and `guard` determined which pairs are questions at all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str, Field(min_length=1)]
    prompt: Annotated[str, Field(min_length=1)]
    data: str
    date: str
    confidence: Share
    labels: Count
    policy: str
    embedder: str
    guard: str
    same: CertifiedAnswer | None = None
    different: CertifiedAnswer | None = None

    def is_about(self, verdict: Verdict) -> bool:
        """Whether the verdict is by this model, in answer to this prompt."""
        return (verdict.model, verdict.prompt) == (self.model, self.prompt)

    def settles(self, verdict: Verdict) -> bool:
        """Whether this answer settles. Probabilities have four decimals, as in the calibration."""
        if verdict.probability is None or not self.is_about(verdict):
            return False
        probability = round(verdict.probability, 4)
        match verdict.answer:
            case "same":
                return self.same is not None and probability >= self.same.threshold
            case "different":
                return self.different is not None and probability < self.different.threshold
            case _:
                return False


def read_certificate(file: Path) -> JudgeCertificate:
    """The certificate in a file. Raises UsageError, which says what is wrong, if it has none."""
    try:
        return JudgeCertificate.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"certificate of [judge.first]: {file} cannot be read ({error.strerror}): write it with"
            " `palimpsest calibrate --pairs FILE --judge-to FILE`"
        ) from None
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(map(str, wrong["loc"])) or "the file"
        raise UsageError(
            f"certificate of [judge.first]: {file}: {place}: {wrong['msg']}; write it anew with"
            " `palimpsest calibrate --pairs FILE --judge-to FILE`"
        ) from None
