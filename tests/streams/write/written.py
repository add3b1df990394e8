"""A generated history that a writer carries out, on a log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.streams.write.writer import Writer
from tests.laws.world import Command, World


class Written(World):
    """A world whose commands are a writer's; `made` makes that of a clock."""

    def __init__(self, policy: Policy, made: Callable[[Callable[[], datetime]], Writer]) -> None:
        super().__init__(policy)
        self.writer = made(lambda: self.now)
        self.ledger = self.writer.owners.get(self.ledger.owner_id).ledger

    def run(self, command: Command, seconds: int = 1) -> list[AnyEvent]:
        """Carry a command out after some seconds; whoever tells the story commits."""
        self.advance(seconds)
        events = self.writer.apply(self.ready(command))
        self.log += events
        return events
