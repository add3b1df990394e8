"""The log's interface for projections, and hooks for tests to stop at effects on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from palimpsest.contracts.wire import Recorded

Effect = Callable[[str], None]
"""Called with a name before each effect on the disk; tests stop the process there."""

Progress = Callable[[str, float], None]
"""Called with a description of the work, and the share that is done, 0 to 1."""

NOBODY = ""
"""The owner of events about the whole store, and of inputs whose owner could not be read."""


def no_effect(name: str) -> None:
    """Do nothing."""


def no_progress(what: str, share: float) -> None:
    """Report nothing."""


class EventSource(Protocol):
    """A log as projections see it. Positions grow, with gaps allowed; the first is 1."""

    def head(self) -> int:
        """The position of the last event; 0 in an empty log."""

    def of_owner(self, owner_id: str, *, upto: int | None = None) -> Iterator[Recorded]:
        """One owner's events in order, up to and including `upto`; the owner may be `NOBODY`."""

    def owners_since(self, position: int, *, upto: int) -> list[str]:
        """The owners of the events after a position, up to and including `upto`."""

    def owners(self) -> Iterator[str]:
        """Every owner with events; may omit `NOBODY`."""


class EventFinder(Protocol):
    """A log in which one event can be looked up."""

    def find(self, event_id: str) -> Recorded | None:
        """The event with this id; None if there is none."""
