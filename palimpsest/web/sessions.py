"""Sessions by cookie, and the one-use links and tokens that begin them.

They are kept in memory: after a restart, everybody must sign in again. Secrets are kept as hashes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from palimpsest.server.callers import Caller
from palimpsest.server.endpoint import EVERYBODY
from palimpsest.server.hosts import is_loopback, split_host

LINK_SECONDS = 60.0
SESSION_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1_000
"""Maximum number of sessions; beyond it, the oldest one ends."""
MOST_LINKS = 1_000
NOBODY = Caller("visitor", "agent", re.compile(r"(?!)"))
"""The caller without a cookie, who may sign in and sees no owner."""
LOCAL_OPERATOR = Caller("", "operator", re.compile(EVERYBODY))
"""The caller of the link that `serve` prints; the person who uses it is asked for a name."""
REVIEWER_COOKIE = "palimpsest_reviewer"
"""A cookie with a person's name, so that each browser asks for it once, for all servers."""
ANSWERS_COOKIE = "palimpsest_answers"
"""A cookie with the event ids of the last answers given in a browser."""
REVIEWER_SECONDS = 365 * 24 * 3600

Held = TypeVar("Held")


@dataclass(frozen=True)
class WebSession:
    """A person's session. `csrf` is the secret that only our own pages can send.

    `says_who`: the person chooses the name; until then the caller's name is empty. Two people may
    choose the same name, so `answers` are the events of the last answers given in this browser.
    `answers` is None for a link or a token with a name, which belongs to one person.
    """

    caller: Caller
    csrf: str
    secret: str = ""
    says_who: bool = False
    answers: frozenset[str] | None = None


class Sessions:
    """All sessions and links; `now` gives monotonic seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._links: dict[str, tuple[float, Caller]] = {}
        self._sessions: dict[str, tuple[float, WebSession]] = {}

    def link(self, caller: Caller) -> str:
        """The code of a new link, which admits one person once, as this caller.

        If the caller has no name, the person is asked for one.
        """
        code = secrets.token_urlsafe(32)
        _hold(self._links, _hash(code), (self._now() + LINK_SECONDS, caller), MOST_LINKS)
        return code

    def redeem(self, code: str) -> Caller | None:
        """The caller of a link, at its first use within a minute; None otherwise."""
        expires, caller = self._links.pop(_hash(code), (0.0, None))
        return caller if expires > self._now() else None

    def begin(
        self,
        caller: Caller,
        seconds: float = SESSION_SECONDS,
        known_as: str = "",
        answers: frozenset[str] = frozenset(),
    ) -> WebSession:
        """A new session; its `secret` is for the cookie and is not kept.

        For a caller without a name, `known_as` is the name entered before, and `answers` are the
        answers given under it.
        """
        secret = secrets.token_urlsafe(32)
        session = WebSession(
            replace(caller, name=caller.name or known_as),
            secrets.token_urlsafe(32),
            says_who=not caller.name,
            answers=None if caller.name else answers,
        )
        until = self._now() + min(seconds, SESSION_SECONDS)
        _hold(self._sessions, _hash(secret), (until, session), MOST_SESSIONS)
        return replace(session, secret=secret)

    def find(self, headers: Headers) -> WebSession | None:
        """The session of a request's cookie; None without a valid one."""
        expires, session = self._sessions.get(_hash(_secret(headers)), (0.0, None))
        return session if expires > self._now() else None

    def rename(self, headers: Headers, name: str) -> None:
        """Set the person's name in the session of a request's cookie."""
        key = _hash(_secret(headers))
        until, session = self._sessions[key]
        self._sessions[key] = until, replace(session, caller=replace(session.caller, name=name))

    def caller(self, headers: Headers) -> Caller:
        """The caller of a page, for the gate."""
        session = self.find(headers)
        return session.caller if session else NOBODY

    def revoke(self, names: Collection[str]) -> None:
        """End the sessions and links of callers with these names."""
        if names:
            self._links = {k: held for k, held in self._links.items() if held[1].name not in names}
            self._sessions = {
                k: held for k, held in self._sessions.items() if held[1].caller.name not in names
            }

    def end(self, headers: Headers) -> None:
        """End the session of a request's cookie."""
        self._sessions.pop(_hash(_secret(headers)), None)


def cookie_name(headers: Headers) -> str:
    """The cookie's name, with the port: browsers share cookies among all ports of a host."""
    _, port = split_host(headers.get("host", ""))
    return f"palimpsest_review_{port or 'web'}"


def set_cookie(headers: Headers, value: str) -> str:
    """The header `Set-Cookie` for a value; an empty one ends the session in the browser."""
    return _cookie(headers, cookie_name(headers), value, int(SESSION_SECONDS) if value else 0)


def reviewer_of(headers: Headers) -> str:
    """The name that this browser's person entered before, or an empty text."""
    return unquote(cookie_parser(headers.get("cookie", "")).get(REVIEWER_COOKIE, ""))


def reviewer_cookie(headers: Headers, name: str) -> str:
    """The header `Set-Cookie` that keeps a person's name in the browser."""
    return _cookie(headers, REVIEWER_COOKIE, quote(name, safe=""), REVIEWER_SECONDS)


def answers_of(headers: Headers) -> frozenset[str]:
    """The event ids of the last answers given in this browser."""
    return frozenset(cookie_parser(headers.get("cookie", "")).get(ANSWERS_COOKIE, "").split("."))


def answers_cookie(headers: Headers, event_ids: Iterable[str]) -> str:
    """The header `Set-Cookie` that keeps the last answers in the browser."""
    return _cookie(headers, ANSWERS_COOKIE, ".".join(event_ids), REVIEWER_SECONDS)


def _cookie(headers: Headers, name: str, value: str, seconds: int) -> str:
    """A cookie, `Secure` unless the host is the loopback: other hosts are reached only over TLS."""
    host, _ = split_host(headers.get("host", ""))
    secure = "" if is_loopback(host or "") else "; Secure"
    return f"{name}={value}; Path=/review; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def _secret(headers: Headers) -> str:
    return cookie_parser(headers.get("cookie", "")).get(cookie_name(headers), "")


def _hold(
    held: dict[str, tuple[float, Held]], key: str, item: tuple[float, Held], most: int
) -> None:
    while len(held) >= most:
        del held[next(iter(held))]
    held[key] = item


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
