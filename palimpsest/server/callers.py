"""Authentication and roles: each token has a role, and the owners whose memories it opens."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from palimpsest.contracts.errors import UsageError
from palimpsest.server.problems import ProblemError
from palimpsest.settings.serve import Role, Token, TokenWatch

_log = logging.getLogger(__name__)

ROLES: tuple[Role, ...] = ("agent", "reviewer", "operator")
"""Each role includes those before it. Reviewers and operators are people."""

SCHEMES = ("bearer", "token")
SHOW = "show a token: Authorization: Bearer …"
UNKNOWN = "this server does not know the token"


@dataclass(frozen=True)
class Caller:
    """The holder of a request's token."""

    name: str
    role: Role
    owners: re.Pattern[str]

    def may_act_as(self, role: Role) -> bool:
        """Whether the caller's role includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def require_role(self, role: Role) -> None:
        """Raise a problem if the caller's role does not include this one."""
        if not self.may_act_as(role):
            raise ProblemError(403, "forbidden", f"this needs the role {role}")

    def require_owner(self, owner_id: str) -> None:
        """Raise a problem if the token is not for this owner."""
        if not self.owners.fullmatch(owner_id):
            raise ProblemError(403, "forbidden", "the token is not for this owner")


class Authenticator:
    """Recognises tokens; keeps only their hashes."""

    def __init__(
        self,
        tokens: Iterable[Token],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        watch: TokenWatch | None = None,
    ) -> None:
        self._now = now
        self._watch = watch
        self._known = _known_by(tokens)

    @property
    def names(self) -> set[str]:
        """The names of all tokens."""
        return {caller.name for _, _, caller in self._known}

    def refresh(self) -> set[str]:
        """Read the file of tokens again if it has changed; returns the names of revoked tokens.

        Changed tokens count as revoked. If the file cannot be read, the tokens do not change, and
        the error is logged.
        """
        try:
            tokens = self._watch.changed() if self._watch else None
        except UsageError as error:
            _log.error("the tokens stay as they were: %s", error)
            return set()
        if tokens is None:
            return set()
        before, self._known = self._known, _known_by(tokens)
        _log.info("the file of tokens has changed; known tokens: %d", len(self._known))
        return {known[2].name for known in before if known not in self._known}

    def caller(self, authorization: str | None) -> Caller:
        """The caller of a header `Authorization`; a problem if the token is missing or invalid.

        Compares it with every known token, each in constant time.
        """
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() not in SCHEMES or not secret.strip():
            raise _unauthorized(SHOW)
        caller, _ = self.known(secret)
        return caller

    def known(self, secret: str) -> tuple[Caller, float | None]:
        """The caller of a secret, and the seconds until it expires; a problem as in `caller`."""
        shown = _hash(secret.strip())
        found = [known for known in self._known if hmac.compare_digest(known[0], shown)]
        if not found:
            raise _unauthorized(UNKNOWN)
        _, expires, caller = found[0]
        left = None if expires is None else (expires - self._now()).total_seconds()
        if left is not None and left <= 0:
            raise _unauthorized("the token has expired")
        return caller, left


def _known_by(tokens: Iterable[Token]) -> list[tuple[bytes, datetime | None, Caller]]:
    return [
        (
            _hash(token.secret.get_secret_value()),
            token.expires,
            Caller(token.name, token.role, re.compile(token.owners)),
        )
        for token in tokens
    ]


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _unauthorized(detail: str) -> ProblemError:
    return ProblemError(401, "unauthorized", detail, headers={"www-authenticate": "Bearer"})
