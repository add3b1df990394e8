"""Composes a concatenated text again if it loses one of its sources, in the same commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from palimpsest.contracts.commands import Admit, Compose, Operation
from palimpsest.contracts.events import Composition, Content
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.concatenate import recompositions
from palimpsest.streams.core.decide import Done, execute
from palimpsest.streams.core.ledger import Ledger


def recompose(
    command: Admit | Operation,
    ledger: Ledger,
    policy: Policy,
    now: datetime,
    content: Callable[[str], Content],
) -> Done:
    """Compose again each concatenated text that lost a source through the command just executed.

    `content` returns a text with its hash and, except in a dry run, its vector. If a request has
    many commands, this is done once, after the last one.
    """
    done: Done = []
    if not ledger.composing or isinstance(command, Admit) or command.more_follow:
        return done
    for decision_id, text, sources in recompositions(ledger):
        compose = Compose(
            command_id=event_id(command.command_id, f"compose:{decision_id}"),
            owner_id=ledger.owner_id,
            decision_id=decision_id,
            composition=Composition(content=content(text), sources=sources),
        )
        done += execute(compose, ledger, policy, now)
    return done
