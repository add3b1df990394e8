"""The CloudEvents attributes of an event that a command causes."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from palimpsest.contracts.commands import OwnerCommand
from palimpsest.contracts.identity import event_id


class Head(TypedDict):
    """The attributes that every event has besides its data."""

    id: str
    subject: str
    time: datetime
    partitionkey: str


def head(command: OwnerCommand, subject: str, now: datetime, step: int = 0) -> Head:
    """The envelope of a command's event number `step`; its id follows from command and step."""
    return {
        "id": event_id(command.command_id, str(step)),
        "subject": subject,
        "time": now,
        "partitionkey": command.owner_id,
    }
