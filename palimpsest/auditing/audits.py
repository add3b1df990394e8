"""Audits of a store: opened, labelled pair by pair, certified and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, TypedDict, get_args

from palimpsest.auditing.check import AuditCheck, Coverage, check
from palimpsest.auditing.forecast import SHARES, TARGETS, LabelsForeseen, foresee_labels
from palimpsest.auditing.joins import (
    AuditedJoin,
    AuditScope,
    Sealed,
    population_digest,
)
from palimpsest.auditing.probes import MOST, Probe, probes_of
from palimpsest.auditing.recalls import Recalls
from palimpsest.auditing.recorded import RecordedAudits, drawn, full_pair, population_moved
from palimpsest.auditing.state import (
    Audit,
    AuditTally,
    concordance,
    labels_of,
    strata_of,
    tally_of,
    waits_for_second,
)
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import (
    AuditLabel,
    AuditLabelled,
    AuditOpenedData,
    CertifiedData,
    FaceRule,
)
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import (
    CertifyRequest,
    OpenAuditRequest,
    UnmergeRequest,
)
from palimpsest.streams.embedder import Progress, ignore_progress

QUESTIONS: dict[FaceRule, str] = {
    "repeat": "The older text stays."
    " Does the newer one say anything that the older one lacks or denies?",
    "keep": "The older text stays."
    " Does the newer one say anything that the older one lacks or denies?",
    "take": "The newer text replaces the older one."
    " Does it repeat or replace what the older one said?",
    "text": "One text was written from both. Does it add or lose anything?",
}
"""The question about a join for an auditor, depending on which text speaks."""
FOR_DETECTION = 0.2
"""The share of the error probability that is reserved for what the auditor misses."""


class AuditQuestion(TypedDict):
    """The pair to look at: its texts by arrival, and the composed one if one was written.

    A text is None if it was forgotten or erased since; the right label is then `unsure`.
    """

    audit: str
    pair: str
    number: int
    kind: FaceRule
    question: str
    wrong_if: str
    older: str | None
    newer: str | None
    composed: str | None


class AuditProgress(TypedDict):
    """How far an audit has got; shares are between 0 and 1.

    `bound` is the greatest share of joins that may be wrong, `bound_before_detection` the same if
    the labels missed nothing. `joins_needed` is how many more joins must be labelled `right` to
    reach the target if the labels miss nothing; `labels_needed` is how many more labels that takes,
    probes included, if every probe is found. Both are None if no number would do. `seconds` counts
    the pairs that a second person also labelled, `agreed` those with the same label; `kappa` is
    Cohen's, None if it is undefined.
    """

    audit: str
    position: int
    joins: int
    target: float
    confidence: float
    seed: str
    labels: int
    errors: int
    probes: int
    probes_found: int
    detected: float
    bound_before_detection: float
    bound: float
    certified: bool
    certificates: int
    joins_needed: int | None
    labels_needed: int | None
    seconds: int
    agreed: int
    kappa: float | None


class AuditStatus(AuditProgress):
    """The progress with the bound of each stratum, and the joins found wrong that still stand.

    `labels_after_errors` has the labels needed if the next join is wrong, and if the next two are;
    None if no number would do.
    """

    labels_after_errors: list[int | None]
    strata: list[dict[str, Any]]
    still_joined: list[str]


class AuditForecast(TypedDict):
    """How many labels an audit of the joins at `position` would take.

    `foreseen` has that for each target and share of wrong joins, with up to `probes` probes, all of
    which are found.
    """

    position: int
    joins: int
    confidence: float
    probes: int
    foreseen: list[LabelsForeseen]


class LabelDone(TypedDict):
    """The outcome of a label. `unmerged` names the reversal, which `undo` takes back.

    `not_unmerged` says why a join with the label `wrong` still stands.
    """

    audit: str
    pair: str
    label: AuditLabel
    unmerged: str | None
    not_unmerged: str | None
    status: AuditProgress


@dataclass(slots=True)
class _Opened:
    """What an audit sealed, read once, and its tally after the first `events` events of audits."""

    sealed: Sealed
    joins: Mapping[str, AuditedJoin]
    probes: Mapping[str, Probe]
    tally: AuditTally | None = None
    events: int = 0
    so_far: AuditProgress | None = None


class Audits:
    """The audits of a store (docs/proof.md): every call names one, or means the latest.

    An id may be abbreviated. Joins are read from the log up to the position that an audit sealed,
    so the first call takes as long as folding that; the object keeps what it has read.
    """

    def __init__(
        self,
        writer: StoreWriter,
        turn: AbstractContextManager[Any] | None = None,
        progress: Progress = ignore_progress,
        actor: str | None = None,
    ) -> None:
        self._log = RecordedAudits(writer, turn or nullcontext(), progress, actor)
        self._writer = writer
        self._kept: dict[str, _Opened] = {}
        self.recall = Recalls(self._log)

    def open(
        self,
        *,
        target: float = 0.01,
        confidence: float = 0.95,
        owners: str | None = None,
        since: datetime | None = None,
        seed: str | None = None,
        position: int | None = None,
        probes: int = MOST,
        because: str | None = None,
    ) -> AuditStatus:
        """Seal a position of the log, then draw a seed, and record both.

        If you give a `seed` of your own, such as rolled dice, also give the `position` that was
        announced before the roll: otherwise nobody can know which came first. A seed that was used
        before is refused. `probes` is the maximum number of pairs known to be wrong that are mixed
        in; with 0 the labels are taken to be right. Raises UsageError for a share out of range, or
        if no automatic join stands there.
        """
        with self._log.turn:
            _require_shares(target, confidence, probes)
            sealed, joins = self._sealed(AuditScope(owners, since), seed, position)
            seed, own_id = drawn(seed), request_id()
            audit_id = event_id(own_id, "0")
            found = self._probes(audit_id, seed, sealed, joins, probes) if probes else []
            opened = AuditOpenedData(
                position=sealed.position,
                seed=seed,
                joins=len(joins),
                digest=population_digest([*joins]),
                target=target,
                confidence=confidence,
                detection=round((1.0 - confidence) * FOR_DETECTION, 9) if found else 0.0,
                probes=len(found),
                owners=owners,
                since=since,
                probes_wanted=probes if found else None,
                offsets=sealed.offsets,
            )
            self._writer.ask(
                OpenAuditRequest(
                    request_id=own_id, opened=opened, actor=self._log.actor, because=because
                )
            )
            self._kept[audit_id] = _Opened(sealed, joins, {probe.id: probe for probe in found})
            return self._status(*self._found(audit_id))

    def foresee(
        self,
        *,
        target: float = 0.01,
        confidence: float = 0.95,
        owners: str | None = None,
        since: datetime | None = None,
        position: int | None = None,
        probes: int = MOST,
    ) -> AuditForecast:
        """How many labels an audit would take, for several targets and shares of wrong joins.

        Takes some seconds, and records nothing; an audit opened later has a different order. Raises
        UsageError as `open` does.
        """
        with self._log.turn:
            _require_shares(target, confidence, probes)
            sealed, joins = self._sealed(AuditScope(owners, since), None, position)
        detection = (1.0 - confidence) * FOR_DETECTION if probes else 0.0
        delta = 1.0 - confidence - detection
        return {
            "position": sealed.position,
            "joins": len(joins),
            "confidence": confidence,
            "probes": probes,
            "foreseen": [
                foresee_labels(len(joins), wanted, share, delta, detection, probes)
                for wanted in sorted({target, *TARGETS})
                for share in SHARES
            ],
        }

    def _sealed(
        self, scope: AuditScope, seed: str | None, position: int | None
    ) -> tuple[Sealed, Mapping[str, AuditedJoin]]:
        """The log up to a position, and the joins that stand there; UsageError if none does."""
        sealed = self._log.sealed(scope, seed, position)
        joins = sealed.joins(self._log.progress)
        if not joins:
            raise UsageError(
                f"no automatic join{scope} stands at position {sealed.position}: nothing to audit"
            )
        return sealed, joins

    def meant(self, audit: str | None = None) -> Audits | Recalls:
        """The calls for what an id names, or for the latest opened: an audit or an estimate."""
        with self._log.turn:
            found, _ = self._log.found(audit)
            return self if found.opened.recall is None else self.recall

    def next(self, audit: str | None = None, *, actor: str | None = None) -> AuditQuestion | None:
        """The pair to look at; None if every join has a label.

        A tenth of the pairs that another person has labelled come first, without their label.
        """
        with self._log.turn:
            found, audits = self._found(audit)
            tally = self._tally(found, audits)
            pair = waits_for_second(found, actor or self._log.actor) or tally.next
            given = len(found.labels) + len(found.seconds)
            return None if pair is None else self._question(found, pair, given)

    def label(
        self,
        pair: str,
        label: AuditLabel,
        *,
        audit: str | None = None,
        because: str | None = None,
        actor: str | None = None,
    ) -> LabelDone:
        """Say whether the join of the pair that `next` showed is right; wrong ones are un-merged.

        A pair may be labelled again, and the latest label counts; `undo` with the id in `unmerged`
        restores a join that was un-merged. Repeating the same label changes nothing. Raises
        UsageError for another label, RefusedError (`not_waiting`) for a pair that was not shown
        yet.
        """
        if label not in get_args(AuditLabel):
            raise UsageError("a label must be right, wrong or unsure")
        with self._log.turn:
            found, audits = self._found(audit)
            tally, opened = self._tally(found, audits), self._opened(found)
            pair = full_pair(pair, tally.next, found.labels)
            second = pair == waits_for_second(found, actor or self._log.actor)
            known = opened.probes.get(pair) or opened.joins[pair]
            self._log.label(
                found, pair, label, known.shown, actor=actor, because=because, second=second
            )
            unmerged, refused = None, None
            if label == "wrong" and pair in opened.joins:
                unmerged, refused = self._unmerge(
                    opened.joins[pair], found.id, because, actor or self._log.actor
                )
            return {
                "audit": found.id,
                "pair": pair,
                "label": label,
                "unmerged": unmerged,
                "not_unmerged": refused,
                "status": self._so_far(*self._found(found.id)),
            }

    def progress(self, audit: str | None = None) -> AuditProgress:
        """Like `status`, without the strata, which take longer to count."""
        with self._log.turn:
            return self._so_far(*self._found(audit))

    def curve(self, audit: str | None = None) -> list[float]:
        """The bound before detection: at the start, and after the label of each join."""
        with self._log.turn:
            tally = self._tally(*self._found(audit))
            return [1.0, *(most / tally.joins for most in tally.curve)]

    def status(self, audit: str | None = None) -> AuditStatus:
        """How far an audit has got: the current bound, and how many labels are still needed."""
        with self._log.turn:
            return self._status(*self._found(audit))

    def certify(self, audit: str | None = None, *, because: str | None = None) -> AuditStatus:
        """Record what the labels prove.

        Raises RefusedError (`not_proven`), which says how many labels are needed, if the bound is
        above the target.
        """
        with self._log.turn:
            found, audits = self._found(audit)
            tally = self._tally(found, audits)
            if not tally.certified:
                raise RefusedError("not_proven", _not_proven(tally))
            detection = tally.detection
            certified = CertifiedData(
                audit=found.id,
                joins=tally.joins,
                labels=tally.errors.labels,
                errors=tally.errors.errors,
                probes=detection.probes if detection else 0,
                found=detection.found if detection else 0,
                most=tally.errors.most,
                detected=tally.detected,
                bound=round(tally.bound, 6),
                strata=tuple(strata_of(found, self._opened(found).joins, tally)),
            )
            self._writer.ask(
                CertifyRequest(
                    request_id=request_id(),
                    certified=certified,
                    actor=self._log.actor,
                    because=because,
                )
            )
            return self._status(*self._found(found.id))

    def check(self, *, most: float = 0.01, most_members: int | None = None) -> AuditCheck:
        """Whether the latest certificate is within `most`, and still covers the joins of its scope.

        With `most_members`, also whether any memory has more members than that. Raises UsageError
        for a share or a number out of range.
        """
        if not 0.0 <= most < 1.0:
            raise UsageError(f"--max {most:g}: it must be at least 0 and below 1, such as .01")
        if most_members is not None and most_members < 1:
            raise UsageError("--max-members: give a number of members, 1 or more")
        with self._log.turn:
            audits = self._log.audits()
            dated = [(at, audit, data) for audit in audits for at, data in audit.certified]
            covered = None
            if dated:
                _, audit, certificate = max(dated, key=lambda found: found[0])
                covered = Coverage(audit, certificate, self._opened(audit).joins)
            return check(self._writer.reader, covered, most, most_members, self._log.progress)

    # -- audits in the log -------------------------------------------------------------------------

    def _found(self, wanted: str | None) -> tuple[Audit, list[Audit]]:
        """The requested audit, and all audits."""
        return self._log.found(wanted, lambda audit: audit.opened.recall is None)

    def _opened(self, audit: Audit) -> _Opened:
        """The joins and probes of an audit, as they were when it was opened."""
        if audit.id not in self._kept:
            opened = audit.opened
            log = self._writer.reader.log
            sealed = Sealed(log, opened.position, AuditScope(opened.owners, opened.since))
            joins = sealed.joins(self._log.progress)
            if population_digest([*joins]) != opened.digest:
                raise population_moved(opened.position)
            probes: Sequence[Probe] = ()
            if opened.probes:
                wanted = opened.probes_wanted or opened.probes
                probes = self._probes(audit.id, opened.seed, sealed, joins, wanted)
            self._kept[audit.id] = _Opened(sealed, joins, {probe.id: probe for probe in probes})
        return self._kept[audit.id]

    def _probes(
        self, audit_id: str, seed: str, sealed: Sealed, joins: Mapping[str, AuditedJoin], most: int
    ) -> list[Probe]:
        """The probes of an audit, without pairs that had a label before it was opened."""
        self._log.catch_up()
        before = takewhile(lambda event: event.id != audit_id, self._log.recorded)
        earlier = {event.data.pair for event in before if isinstance(event, AuditLabelled)}
        return probes_of(audit_id, seed, sealed, joins, earlier, most)

    def _tally(self, audit: Audit, audits: Sequence[Audit]) -> AuditTally:
        """The tally of an audit. It is kept; a new label of the pair that was `next` is added."""
        opened, new = self._opened(audit), self._log.recorded[self._opened(audit).events :]
        labels, probes, tally = labels_of(audits, audit), [*opened.probes], opened.tally
        match new:
            case [] if tally is not None:
                return tally
            case [AuditLabelled(data=said)] if tally is not None and (
                not said.second and (said.audit, said.pair) == (audit.id, tally.next)
            ):
                tally.count()
                if said.pair in opened.probes:
                    tally.see_probe(found=said.label != "right")
                tally.advance(audit, opened.joins, probes, labels)
            case _:
                tally = tally_of(audit, opened.joins, probes, labels)
        opened.tally, opened.events, opened.so_far = tally, len(self._log.recorded), None
        return tally

    def _so_far(self, audit: Audit, audits: Sequence[Audit]) -> AuditProgress:
        tally, kept = self._tally(audit, audits), self._opened(audit)
        if kept.so_far is None:
            kept.so_far = _progress(audit, tally)
        return kept.so_far

    def _status(self, audit: Audit, audits: Sequence[Audit]) -> AuditStatus:
        tally, joins = self._tally(audit, audits), self._opened(audit).joins
        return {
            **self._so_far(audit, audits),
            "labels_after_errors": [tally.labels_needed(further) for further in (1, 2)],
            "strata": [
                {name: getattr(stratum, name) for name in stratum.__struct_fields__}
                for stratum in strata_of(audit, joins, tally)
            ],
            "still_joined": self._still_joined(audit),
        }

    def _still_joined(self, audit: Audit) -> list[str]:
        """Joins that were found wrong, but still stand."""
        reader, joins = self._writer.reader, self._opened(audit).joins
        wrong = {
            pair: joins[pair]
            for labels in (audit.labels, audit.seconds)
            for pair, said in labels.items()
            if said.label == "wrong" and pair in joins
        }
        return [
            join.id
            for join in wrong.values()
            if reader.ledger(join.owner_id).edges[join.id].standing
        ]

    # -- one pair ----------------------------------------------------------------------------------

    def _question(self, audit: Audit, pair: str, given: int) -> AuditQuestion:
        opened = self._opened(audit)
        probe = opened.probes.get(pair)
        if probe is not None:
            face, texts = probe.face, probe.texts
        else:
            join = opened.joins[pair]
            face, now = join.face, self._writer.reader.ledger(join.owner_id)
            texts = opened.sealed.texts(join, now)
        return {
            "audit": audit.id,
            "pair": pair,
            "number": given + 1,
            "kind": face,
            "question": QUESTIONS[face],
            "wrong_if": "wrong if it does neither" if face == "take" else "wrong if it does",
            "older": texts.older,
            "newer": texts.newer,
            "composed": texts.composed if face == "text" else None,
        }

    def _unmerge(
        self, join: AuditedJoin, audit_id: str, because: str | None, actor: str | None
    ) -> tuple[str | None, str | None]:
        """Remove a wrong join if it stands; returns the reversal's name, or why it still stands."""
        if not self._writer.reader.ledger(join.owner_id).edges[join.id].standing:
            return None, None
        request = UnmergeRequest(
            request_id=request_id(),
            decision_id=join.id,
            actor=actor,
            because=because or f"found wrong by the audit {audit_id}",
        )
        try:
            done = self._writer.ask(request)
        except RefusedError as error:
            return None, str(error)
        refused = [refusal["detail"] for refusal in done["refused"]]
        return done.get("cause") if done["reversed"] else None, next(iter(refused), None)


def _progress(audit: Audit, tally: AuditTally) -> AuditProgress:
    opened, detection, both = audit.opened, tally.detection, concordance(audit)
    return {
        "audit": audit.id,
        "position": opened.position,
        "joins": opened.joins,
        "target": opened.target,
        "confidence": opened.confidence,
        "seed": opened.seed,
        "labels": tally.errors.labels,
        "errors": tally.errors.errors,
        "probes": detection.probes if detection else 0,
        "probes_found": detection.found if detection else 0,
        "detected": round(tally.detected, 3),
        "bound_before_detection": round(tally.errors.most / tally.joins, 6),
        "bound": round(tally.bound, 6),
        "certified": tally.certified,
        "certificates": len(audit.certified),
        "joins_needed": tally.joins_needed(),
        "labels_needed": tally.labels_needed(),
        "seconds": both.pairs,
        "agreed": both.agreed,
        "kappa": None if both.kappa is None else round(both.kappa, 3),
    }


def _require_shares(target: float, confidence: float, probes: int) -> None:
    if not 0.0 < target < 1.0:
        raise UsageError(f"a target of {target:g}: it must be above 0 and below 1, such as .01")
    if not 0.5 <= confidence < 1.0:
        raise UsageError(f"a confidence of {confidence:g}: it must be at least .5 and below 1")
    if probes < 0:
        raise UsageError("--probes: give a number of pairs, 0 for none")


def _not_proven(tally: AuditTally) -> str:
    """Why an audit cannot be certified yet, and how many labels would suffice."""
    needed = tally.labels_needed()
    now = f"{tally.bound:.2%} may be wrong, over {tally.target:.2%}"
    if needed is None:
        return f"{now}; more labels of this audit cannot prove it: open another one"
    return f"{now}; {counted(needed, 'more label')} without an error would do"
