"""The judge as the log records it, and requests that name the judge of their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import RecordedFirstJudge, RecordedJudge, Verdict
from palimpsest.contracts.requests import (
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    JudgedRequest,
    RunRequest,
    SeparateRequest,
    SettleRequest,
    UnmergeRequest,
)
from palimpsest.streams.judge.certificate import JudgeCertificate
from palimpsest.streams.judge.settings import ServiceSettings

if TYPE_CHECKING:
    from palimpsest.streams.judge.judge import PairJudge

Judged = TypeVar("Judged", bound=JudgedRequest)


def recorded_judge(settings: ServiceSettings, rules: policy.Judge, address: str) -> RecordedJudge:
    """The judge of a service under a policy's rules, which name the models to ask."""
    return RecordedJudge(
        protocol=settings.protocol,
        platform=settings.platform,
        model=rules.model,
        address=origin(address),
        review_model=rules.review_model,
    )


def as_first(judge: RecordedJudge, certificate: JudgeCertificate | None) -> RecordedFirstJudge:
    """A judge as the first of two, with the thresholds that decide which of its answers settle."""
    same, different = (certificate.same, certificate.different) if certificate else (None, None)
    return RecordedFirstJudge(
        protocol=judge.protocol,
        model=judge.model,
        platform=judge.platform,
        address=judge.address,
        certificate=certificate.data if certificate else None,
        same=same.threshold if same else None,
        different=different.threshold if different else None,
    )


def origin(url: str) -> str:
    """Scheme, host and port of a URL, without the parts that may have a key."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def signed(request: Judged, judge: PairJudge) -> Judged:
    """The request, naming the judge that gave its verdicts; unchanged if no judge was asked."""
    if not any(verdict.judge for verdict in _verdicts(request)):
        return request
    return request.model_copy(update={"judge": judge.recorded})


def _verdicts(request: JudgedRequest) -> Sequence[Verdict]:
    match request:
        case CombineRequest():
            return request.evidence.verdicts
        case RunRequest():
            return [text.verdict for text in request.composed]
        case (
            SettleRequest()
            | ComposeRequest()
            | SeparateRequest()
            | ConfirmRequest()
            | UnmergeRequest()
        ):
            return request.verdicts or ()
        case _:
            return ()
