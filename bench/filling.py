"""Fills logs of any length without deciding: each event is one that `decide` would have made."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from bench.rows import batched
from bench.scratch import OwnedText
from bench.stub import StubEngine
from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.events import Content, Decided, DecidedData, Vector
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import candidate_id, decision_id_of, policy_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.core.text import NORMALISER, text_hash
from palimpsest.streams.log.log import Log

AT_ONCE = 2_000
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def fill(log: Log, texts: Iterable[OwnedText], policy: Policy) -> None:
    """Append a policy and a `stored` decision for each text; an owner's texts must be distinct."""
    with log.transaction():
        log.append([policy_event(policy, policy_id(policy.hash), None, BEGINNING)])
    for some in batched(_stored(texts, policy, StubEngine()), AT_ONCE):
        with log.transaction():
            log.append(some)


def _stored(texts: Iterable[OwnedText], policy: Policy, engine: StubEngine) -> Iterator[Decided]:
    evidence = Evidence(policy=policy.hash)
    number = 0
    for some in batched(texts, AT_ONCE):
        for (owner, text), embedding in zip(some, engine.embed([t for _, t in some]), strict=True):
            number += 1
            vector = Vector(
                model=engine.model,
                engine=engine.name,
                dimension=engine.dimension,
                data=base64.b64encode(embedding.vector.tobytes()).decode(),
            )
            yield _decided(owner, text, number, vector, evidence)


def _decided(owner: str, text: str, number: int, vector: Vector, evidence: Evidence) -> Decided:
    ours = candidate_id(owner, "filled", str(number))
    content = Content(
        text=text,
        hash=text_hash(text),
        normaliser=NORMALISER,
        fingerprint=f"{number:032x}",
        vector=vector,
    )
    data = DecidedData(
        decision="stored",
        candidate=CandidateFields(owner_id=owner, source="filled", id=str(number)),
        content=content,
        evidence=evidence,
    )
    return Decided(
        id=decision_id_of(ours),
        subject=ours,
        time=BEGINNING + timedelta(milliseconds=number),
        partitionkey=owner,
        data=data,
    )
