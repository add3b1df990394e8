"""Supervision of a request's steps, because it may have to stop between two of them."""

from __future__ import annotations

from typing import Protocol


class Oversight(Protocol):
    """A partition of a cluster, which has only some of the owners and may be revoked."""

    def require(self) -> None:
        """Raise if the request has to stop here."""

    def step(self, owner_id: str) -> None:
        """Count the next command. Raises RefusedError if its owner is in another partition."""

    def commit_part(self) -> None:
        """Commit what the request has done so far, and report it to the caller."""
