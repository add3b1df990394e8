"""Allowed Host and Origin headers, to prevent DNS rebinding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from palimpsest.server.problems import ProblemError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_loopback(host: str) -> bool:
    """Whether a listening address is reachable only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Hosts:
    """The names of a server: hosts with a port, or without one for any port."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(re.sub(r"[\[\]]", "", name.lower()) for name in names)

    def require(self, host: str | None, origin: str | None) -> None:
        """Raise a problem if `Host` is not a name of this server, or `Origin` is another's."""
        if not host or not self._knows(host):
            raise ProblemError(421, "misdirected", "the header Host names another server")
        if origin is not None and not self._knows_origin(origin):
            raise ProblemError(403, "forbidden", "a page of another origin may not send requests")

    def _knows_origin(self, origin: str) -> bool:
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and self._knows(rest)

    def _knows(self, host: str) -> bool:
        name, port = split_host(host)
        return name is not None and (name in self._names or f"{name}:{port}" in self._names)


def split_host(host: str) -> tuple[str | None, int | None]:
    """The name and the port of a header `Host`; the name is None if the header is malformed."""
    try:
        found = urlsplit(f"//{host}")
        name, port = found.hostname, found.port
    except ValueError:
        return None, None
    if not name or found.netloc != host or found.username is not None:
        return None, None
    return name, port
