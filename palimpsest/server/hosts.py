"""Allowed Host and Origin headers, to prevent DNS rebinding."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from palimpsest.server.problems import ProblemError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Hosts:
    """The names of a server: each a host, with or without a port; without, with any port."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names)

    def require(self, host: str | None, origin: str | None) -> None:
        """A problem where `Host` is no name of this server, or a page of another origin asks."""
        if not host or not self._knows(host):
            raise ProblemError(421, "misdirected", "the header Host names another server")
        if origin is not None and not self._knows_origin(origin):
            raise ProblemError(403, "forbidden", "a page of another origin may not ask")

    def _knows_origin(self, origin: str) -> bool:
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and self._knows(rest)

    def _knows(self, host: str) -> bool:
        name, port = split_host(host)
        return name is not None and (name in self._names or f"{name}:{port}" in self._names)


def split_host(host: str) -> tuple[str | None, int | None]:
    """The name and the port of a header `Host`; the name is None where it is no such thing."""
    try:
        found = urlsplit(f"//{host}")
        name, port = found.hostname, found.port
    except ValueError:
        return None, None
    if not name or found.netloc != host or found.username is not None:
        return None, None
    return name, port
