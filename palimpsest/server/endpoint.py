"""The address of a store's server and its generated secrets, in a file that only its user reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Self
from uuid import uuid4

from pydantic import SecretStr, ValidationError

from palimpsest.contracts.errors import TransientError
from palimpsest.contracts.model import Model
from palimpsest.settings.serve import Role, Token
from palimpsest.streams.embedded.lock import WriterLock

ENDPOINT_FILE = "serve.json"
SERVER_LOCK = "serve.lock"
"""Held by a store's server while it runs."""
STARTING_LOCK = "serve.starting.lock"
"""Held by the process that starts a server."""
EVERYBODY = r"(?s:.*)"


class Endpoint(Model):
    """A server. `agent` and `operator` are its generated secrets, unless it was given tokens."""

    url: str
    pid: int
    agent: str | None = None
    operator: str | None = None


def generate_tokens() -> tuple[Token, ...]:
    """New tokens for this machine's user, for every owner: one for agents, one for a person."""
    roles: tuple[Role, ...] = ("agent", "operator")
    return tuple(
        Token(
            name=f"local {role}",
            secret=SecretStr(secrets.token_urlsafe(32)),
            owners=EVERYBODY,
            role=role,
        )
        for role in roles
    )


def write_endpoint(folder: Path, endpoint: Endpoint) -> None:
    """Write the address of a store's server atomically; only its user can read the file."""
    beside = folder / f"{ENDPOINT_FILE}.{uuid4().hex}"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as out:
        out.write(endpoint.model_dump_json(exclude_none=True))
    beside.replace(folder / ENDPOINT_FILE)


def read_endpoint(folder: Path) -> Endpoint | None:
    """The address of the store's current or last server; None if no file gives a valid one."""
    try:
        return Endpoint.model_validate_json((folder / ENDPOINT_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def remove_endpoint(folder: Path) -> None:
    """Remove the address of a server that has ended."""
    (folder / ENDPOINT_FILE).unlink(missing_ok=True)


class OnlyServer:
    """Holds the store's server lock from `claim` to `end`, or the end of the block.

    A server claims the store before it loads anything, so that a second one fails at once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = WriterLock(folder, SERVER_LOCK)

    def claim(self) -> None:
        """Take the lock if the store's folder exists; TransientError if another server holds it.

        The address of a server that was killed is removed, so that nobody reads its tokens.
        """
        if not self._folder.is_dir():
            return
        if not self._lock.try_acquire():
            other = read_endpoint(self._folder)
            at = f" at {other.url}" if other else ""
            raise TransientError(f"another process serves this store{at}")
        remove_endpoint(self._folder)

    def end(self) -> None:
        """Remove the address and release the lock, so that another server can start meanwhile."""
        if self._lock.held:
            remove_endpoint(self._folder)
            self._lock.release()

    def __enter__(self) -> Self:
        self.claim()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
