"""Who is in: sessions by cookie, and the one-use links and tokens that begin them.

All of it is in memory: a server that starts again knows nobody. Secrets are kept as hashes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from palimpsest.serve.callers import Caller
from palimpsest.serve.endpoint import EVERYBODY
from palimpsest.serve.hosts import is_loopback, split_host

LINK_SECONDS = 60.0
SESSION_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1_000
"""People who are in at the same time; whoever came first is out then."""
MOST_LINKS = 1_000
NOBODY = Caller("visitor", "agent", re.compile(r"(?!)"))
"""Who shows no cookie: sees the way in, and no owner."""
LOCAL_OPERATOR = Caller("local operator", "operator", re.compile(EVERYBODY))
"""Whose link `serve` prints: whoever reads what it prints."""

Held = TypeVar("Held")


@dataclass(frozen=True)
class Session:
    """A person who is in. `csrf` is the secret that only our own pages can send."""

    caller: Caller
    csrf: str
    secret: str = ""


class Sessions:
    """Who may see the pages; `now` gives seconds that only grow."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._links: dict[str, tuple[float, Caller]] = {}
        self._sessions: dict[str, tuple[float, Session]] = {}

    def link(self, caller: Caller) -> str:
        """The code of a new link, which admits one person once, as this caller."""
        code = secrets.token_urlsafe(32)
        _hold(self._links, _hash(code), (self._now() + LINK_SECONDS, caller), MOST_LINKS)
        return code

    def redeem(self, code: str) -> Caller | None:
        """Whose link it is, the first time within a minute; None after that."""
        expires, caller = self._links.pop(_hash(code), (0.0, None))
        return caller if expires > self._now() else None

    def begin(self, caller: Caller, seconds: float = SESSION_SECONDS) -> Session:
        """A new session; its `secret` is for the cookie and is not kept."""
        secret = secrets.token_urlsafe(32)
        session = Session(caller, secrets.token_urlsafe(32))
        until = self._now() + min(seconds, SESSION_SECONDS)
        _hold(self._sessions, _hash(secret), (until, session), MOST_SESSIONS)
        return replace(session, secret=secret)

    def find(self, headers: Headers) -> Session | None:
        """The session of a request's cookie; None where it shows none that is known."""
        secret = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers), "")
        expires, session = self._sessions.get(_hash(secret), (0.0, None))
        return session if expires > self._now() else None

    def caller(self, headers: Headers) -> Caller:
        """Who asks for a page, as the gate wants to know."""
        session = self.find(headers)
        return session.caller if session else NOBODY

    def revoke(self, names: Collection[str]) -> None:
        """End the sessions and links of callers of these names."""
        if names:
            self._links = {k: held for k, held in self._links.items() if held[1].name not in names}
            self._sessions = {
                k: held for k, held in self._sessions.items() if held[1].caller.name not in names
            }

    def end(self, headers: Headers) -> None:
        """The session of a request's cookie is over."""
        secret = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers), "")
        self._sessions.pop(_hash(secret), None)


def cookie_name(headers: Headers) -> str:
    """By port: a browser does not tell servers of one host apart otherwise."""
    _, port = split_host(headers.get("host", ""))
    return f"palimpsest_review_{port or 'web'}"


def set_cookie(headers: Headers, value: str) -> str:
    """The header `Set-Cookie` for a value; an empty one ends the session in the browser.

    It is `Secure` for every name that is not the loopback's: those are reached through TLS alone.
    """
    name, _ = split_host(headers.get("host", ""))
    secure = "" if is_loopback(name or "") else "; Secure"
    age = int(SESSION_SECONDS) if value else 0
    cookie = f"{cookie_name(headers)}={value}; Path=/review; Max-Age={age}"
    return f"{cookie}; HttpOnly; SameSite=Strict{secure}"


def _hold(
    held: dict[str, tuple[float, Held]], key: str, one: tuple[float, Held], most: int
) -> None:
    while len(held) >= most:
        del held[next(iter(held))]
    held[key] = one


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
