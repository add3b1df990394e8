"""Reads a store's audits from its log, and records labels."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from palimpsest.auditing.joins import AuditScope, Sealed
from palimpsest.auditing.state import Audit, audits_of
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import (
    AnyEvent,
    AuditLabel,
    AuditLabelled,
    AuditLabelledData,
    AuditOpened,
    Certified,
)
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import LabelAuditRequest
from palimpsest.streams.embedder import Progress


class RecordedAudits:
    """Reads a store's audits incrementally, and records labels."""

    def __init__(
        self,
        writer: StoreWriter,
        turn: AbstractContextManager[Any],
        progress: Progress,
        actor: str | None,
    ) -> None:
        self.writer = writer
        self.turn = turn
        self.progress = progress
        self.actor = actor
        self.recorded: list[AnyEvent] = []
        self._upto = 0

    def catch_up(self) -> None:
        """Read the events of audits that were recorded since the last call."""
        for found in self.writer.reader.log.of_owner("", after=self._upto):
            self._upto = found.position
            if isinstance(found.event, AuditOpened | AuditLabelled | Certified):
                self.recorded.append(found.event)

    def audits(self) -> list[Audit]:
        """Every audit and estimate of the log, in the order of opening."""
        self.catch_up()
        return audits_of(self.recorded)

    def found(
        self, wanted: str | None, of: Callable[[Audit], bool] = lambda _: True
    ) -> tuple[Audit, list[Audit]]:
        """The audit whose id begins with `wanted`, else the latest; and the list of all audits.

        Only audits of which `of` is true are found.
        RefusedError (`no_audit`) if there is none, or if several ids begin so.
        """
        audits = self.audits()
        known = [audit for audit in audits if of(audit)]
        if not known:
            raise RefusedError("no_audit", "no audit was opened: begin with `audit open`")
        if wanted is None:
            return known[-1], audits
        found = [audit for audit in known if audit.id.startswith(wanted)]
        if len(found) != 1:
            what = "several audits begin" if found else "no audit begins"
            raise RefusedError("no_audit", f"{what} with {wanted[:40]}")
        return found[0], audits

    def sealed(self, scope: AuditScope, seed: str | None, position: int | None) -> Sealed:
        """The log up to a position, by default its end, to be sealed before a seed is `drawn`.

        Raises UsageError for a seed without a position, a seed that was used before, a position
        that the log does not have, or a time without a zone.
        """
        if scope.since is not None and scope.since.tzinfo is None:
            raise UsageError("since: give the time a zone, as datetime(2026, 1, 1, tzinfo=UTC)")
        if seed is not None and position is None:
            raise UsageError(
                "a seed of yours needs --at: seal a position of the log first (`palimpsest"
                " status` says which is the last), then throw the dice"
            )
        if seed is not None and any(audit.opened.seed == seed for audit in self.audits()):
            raise UsageError(
                "this seed was used before, and its order is known: every audit needs a new one"
            )
        log = self.writer.reader.log
        head, offsets = log.end()
        at = head if position is None else position
        if not 0 < at <= head:
            raise UsageError(f"the log ends at position {head}: {at} is not a position of it")
        return Sealed(log, at, scope, offsets if at == head else None)

    def label(
        self,
        audit: Audit,
        pair: str,
        label: AuditLabel,
        shown: str,
        *,
        actor: str | None,
        because: str | None,
        second: bool = False,
    ) -> None:
        """Record a label, unless the pair already has the same one."""
        said = (audit.seconds if second else audit.labels).get(pair)
        if said is not None and said.label == label:
            return
        labelled = AuditLabelledData(
            audit=audit.id, pair=pair, label=label, shown=shown, second=second or None
        )
        self.writer.ask(
            LabelAuditRequest(
                request_id=request_id(),
                labelled=labelled,
                actor=actor or self.actor,
                because=because,
            )
        )


def drawn(seed: str | None) -> str:
    """The given seed, or a new one."""
    return secrets.token_hex(16) if seed is None else seed


def full_pair(pair: str, waiting: str | None, labels: Iterable[str]) -> str:
    """Expand an id, which may be abbreviated, of the waiting pair or of one with a label.

    Raises RefusedError (`not_waiting`) if it is not the beginning of exactly one of these.
    """
    open_for = [*([waiting] if waiting else []), *labels]
    found = [known for known in open_for if known.startswith(pair)] if pair else []
    if len(found) != 1:
        raise RefusedError(
            "not_waiting",
            f"{pair[:40]} is not the pair that `audit next` shows, nor an earlier one",
        )
    return found[0]


def population_moved(position: int) -> RefusedError:
    """The error if a store's joins at a position differ from those that an audit sealed."""
    return RefusedError(
        "other_joins",
        f"at position {position} this store has other joins than the audit sealed: continue it on"
        " the store where it was opened",
    )
