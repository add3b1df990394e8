"""Records of audits: events of the store, which no ledger folds."""

from __future__ import annotations

from msgspec import structs

from palimpsest.contracts.answers import Audited
from palimpsest.contracts.events import AuditLabelled, AuditOpened, Certified
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import CertifyRequest, LabelAuditRequest, OpenAuditRequest
from palimpsest.streams.write.writer import Writer


def open_audit(writer: Writer, request: OpenAuditRequest) -> Audited:
    """Record an audit: its sealed position, and the seed of its order."""
    own_id = event_id(request.request_id, "0")
    data = structs.replace(request.opened, actor=request.actor, because=request.because)
    writer.record(
        AuditOpened(id=own_id, subject=own_id, time=writer.clock(), partitionkey="", data=data)
    )
    return {"audit": own_id, "events": [own_id]}


def label_audit(writer: Writer, request: LabelAuditRequest) -> Audited:
    """Record an auditor's label of a pair."""
    own_id = event_id(request.request_id, "0")
    data = structs.replace(request.labelled, actor=request.actor, because=request.because)
    writer.record(
        AuditLabelled(id=own_id, subject=data.pair, time=writer.clock(), partitionkey="", data=data)
    )
    return {"audit": data.audit, "events": [own_id]}


def certify(writer: Writer, request: CertifyRequest) -> Audited:
    """Record what the labels of an audit prove."""
    own_id = event_id(request.request_id, "0")
    data = structs.replace(request.certified, actor=request.actor, because=request.because)
    writer.record(
        Certified(id=own_id, subject=data.audit, time=writer.clock(), partitionkey="", data=data)
    )
    return {"audit": data.audit, "events": [own_id]}
