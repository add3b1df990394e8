"""What the end of a session leads to, as commands of its writer (docs/designs/layered.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from palimpsest.contracts.commands import Combine, EndSession, Operation, RecordRun
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.dedupe.consolidate import CHECK, figures, plan


def run_of(end: EndSession) -> str:
    """The id of the run that the end of a session leads to: it follows from the command's own."""
    return event_id(end.command_id, CHECK)


def consolidated(
    end: EndSession, ledger: Ledger, policy: Policy, now: datetime
) -> Iterator[Operation]:
    """The joins of an ended session, each to be carried out before the next, and their record.

    Nothing where the policy has no such rule. What stands between two by their turn is left out.
    """
    rule = policy.consolidate
    if rule is None or not policy.enabled:
        return
    planned, run = plan(ledger, policy, rule, end.session_id), run_of(end)
    superseded = 0
    for cluster in planned.clusters:
        for other, score in cluster.others:
            older, newer = sorted((cluster.speaker, other), key=lambda entry: entry.place)
            if hindrance_of(ledger, older, newer) is None:
                superseded += 1
                takes = newer is cluster.speaker
                yield _join(end, policy, run, (older, newer), score, takes=takes)
    yield RecordRun(
        command_id=run,
        owner_id=end.owner_id,
        actor=end.actor,
        because=end.because,
        step="consolidate",
        due=now,
        figures=figures(planned, superseded),
        session_id=end.session_id,
    )


def _join(
    end: EndSession,
    policy: Policy,
    run: str,
    pair: tuple[Entry, Entry],
    score: float,
    *,
    takes: bool,
) -> Combine:
    """The representative speaks, whether it came first or last (`takes`)."""
    older, newer = pair
    seen = Neighbour(candidate_id=older.id, jaccard=score)
    return Combine(
        command_id=event_id(run, f"{older.id}:{newer.id}"),
        owner_id=end.owner_id,
        actor=end.actor,
        because=end.because,
        more_follow=True,
        a=older.id,
        b=newer.id,
        decision="superseded",
        face="take" if takes else "keep",
        evidence=Evidence(policy=policy.hash, check=CHECK, neighbours=(seen,)),
        outright=takes,
        cause=run,
    )
