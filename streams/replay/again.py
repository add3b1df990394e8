"""The commands that caused events, to be carried out on another history."""

from __future__ import annotations

from collections.abc import Mapping

from palimpsest.contracts.commands import (
    Compose,
    Merge,
    Operation,
    Redecide,
    Reinstate,
    Restore,
    Separate,
    SetExpiry,
    Undo,
    Unmerge,
    Withdraw,
)
from palimpsest.contracts.events import (
    Composed,
    ExpirySet,
    Joined,
    Redecided,
    Reinstated,
    Restored,
    Reversed,
    Separated,
    Speaker,
)
from palimpsest.streams.core.ledger import Ledger


def merged_again(event: Joined) -> Merge:
    """The command for a person's merge."""
    newer, join = event.data.candidate_id, event.data.join
    return Merge(
        command_id=event.id,
        owner_id=event.owner_id,
        a=join.to,
        b=newer,
        face=newer if join.face == "take" else None,
    )


def redecided_again(event: Redecided) -> Redecide:
    """The command for a candidate that was decided on again."""
    data = event.data
    return Redecide(
        command_id=event.id,
        owner_id=event.owner_id,
        candidate_id=data.candidate_id,
        consequence_of=data.consequence_of,
        decision=data.decision,
        join=data.join,
        composition=data.composition,
        evidence=data.evidence,
        cause=data.cause,
    )


def stated_again(
    event: Reversed | Reinstated | Separated | Composed | Restored | ExpirySet,
    ledger: Ledger,
    called: Mapping[str, str],
) -> Operation | None:
    """The command for a person's statement.

    None if its decision joined other candidates in this ledger, or joined nothing. `called` has the
    ids of joins and separations in this ledger, by their ids in the log.
    """
    own, owner = event.id, event.owner_id
    match event:
        case Reversed():
            return _reversed_again(event, ledger, called)
        case Reinstated(data=back):
            return Reinstate(
                command_id=own,
                owner_id=owner,
                decision_id=called.get(back.decision_id, back.decision_id),
                rank=back.rank,
                cause=back.cause,
            )
        case Separated(data=pair):
            return Separate(
                command_id=own,
                owner_id=owner,
                a=pair.candidate_id,
                b=pair.other_id,
                rank=pair.rank,
            )
        case Composed(data=text):
            return Compose(
                command_id=own,
                owner_id=owner,
                decision_id=text.decision_id,
                composition=text.composition,
            )
        case Restored(data=data):
            return Restore(command_id=own, owner_id=owner, candidate_id=data.candidate_id)
        case ExpirySet(data=expiry):
            return SetExpiry(
                command_id=own,
                owner_id=owner,
                candidate_id=expiry.candidate_id,
                expires_at=expiry.expires_at,
                actor=expiry.actor,
                because=expiry.because,
            )


def _reversed_again(
    event: Reversed, ledger: Ledger, called: Mapping[str, str]
) -> Withdraw | Undo | Unmerge | None:
    """The command for a reversal, by what it took back: a statement, an update or another join."""
    own, owner, cut = event.id, event.owner_id, event.data
    decision_id = called.get(cut.decision_id, cut.decision_id)
    if decision_id in ledger.separations:
        a, b = ledger.separations[decision_id]
        return Withdraw(command_id=own, owner_id=owner, a=a, b=b)
    edge = ledger.edges.get(decision_id)
    if edge is None or edge.older.id != cut.joined_to:
        return None
    if edge.over is not None and not cut.separates and cut.consequence_of is None:
        rank: Speaker = "agent" if cut.rank == "agent" else "person"
        return Undo(
            command_id=own, owner_id=owner, decision_id=decision_id, rank=rank, cause=cut.cause
        )
    if cut.is_withdrawal:
        return Withdraw(command_id=own, owner_id=owner, a=edge.older.id, b=edge.newer.id)
    return Unmerge(
        command_id=own,
        owner_id=owner,
        decision_id=decision_id,
        rank=cut.rank,
        consequence_of=cut.consequence_of,
        cause=cut.cause,
    )
