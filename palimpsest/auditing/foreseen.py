"""Facts about a store's audits, for a backtest and the board."""

from __future__ import annotations

from datetime import datetime

from palimpsest.auditing.bound import ErrorBound
from palimpsest.auditing.state import Audit, audits_of, labels_of
from palimpsest.contracts.events import CertifiedData
from palimpsest.evaluation.automatic import CertifiedJoins
from palimpsest.streams.log.log import Log


def last_certified(log: Log) -> CertifiedJoins | None:
    """The joins of the latest certificate; None if nothing is certified."""
    found = _last(log)
    if found is None:
        return None
    audits, audit = found
    opened = audit.opened
    labels = frozenset(labels_of(audits, audit))
    return CertifiedJoins(audit.id, opened.position, opened.owners, opened.since, labels)


def labels_needed(log: Log, joins: int) -> int | None:
    """How many labels without an error bring this many joins to the latest certificate's target.

    Probes are left out, as if the labels missed nothing. None if no number would do.
    """
    found = _last(log)
    assert found is not None, "something is certified"
    _, audit = found
    if not joins:
        return 0
    bound = ErrorBound(joins, audit.delta)
    return bound.labels_needed(int(audit.opened.target * joins + 1e-9))


def latest_certificate(log: Log) -> tuple[datetime, CertifiedData] | None:
    """The latest certificate and its time; None if there is none."""
    found = _last(log)
    return None if found is None else max(found[1].certified, key=lambda one: one[0])


def _last(log: Log) -> tuple[list[Audit], Audit] | None:
    audits = audits_of(recorded.event for recorded in log.of_owner(""))
    dated = [(at, audit) for audit in audits for at, _ in audit.certified]
    if not dated:
        return None
    return audits, max(dated, key=lambda found: found[0])[1]
