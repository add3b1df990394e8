"""A service's address, and whether it alone shows that texts stay in the private network."""

from __future__ import annotations

import os
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from palimpsest.contracts.errors import UsageError

_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))


def address_of(base_url: str | None, variable: str, table: str) -> str | None:
    """The address in the settings' table, or else in the variable; None if neither is set.

    Raises UsageError if it is not an address.
    """
    url = base_url or os.environ.get(variable, "").strip() or None
    if url is None:
        return None
    with suppress(ValueError):  # such as for a port that is not a number
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            return url
    raise UsageError(
        "the address of a service must begin with https:// or http:// and name a host; a port is"
        f" from 1 to 65535: look at {variable}, or base_url of [{table}]"
    )


def is_remote(url: str) -> bool:
    """Whether what is sent to this address may leave the private network.

    Only `localhost` and addresses written as numbers can be local: what another name stands for may
    change. An address that is reached through a proxy is never local.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host != "localhost" and not _is_private(host):
        return True
    proxies = getproxies()
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not proxy_bypass(host)


def _is_private(host: str) -> bool:
    try:
        address: IPv4Address | IPv6Address = ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return (
        address.is_loopback
        or address.is_link_local
        or any(address in network for network in _PRIVATE)
    )
