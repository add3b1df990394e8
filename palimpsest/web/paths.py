"""The paths of the pages. An owner's id may contain any character, even a slash: it is quoted."""

from __future__ import annotations

from datetime import date
from urllib.parse import quote, urlencode

from palimpsest.server.gate import PAGES


def owners(**query: str) -> str:
    """The list of the owners that the caller may see."""
    return _with(f"{PAGES}/owners", query)


def owner(owner_id: str, **query: str) -> str:
    """An owner's page."""
    return _with(f"{owners()}/{quote(owner_id, safe='')}", query)


def search(owner_id: str) -> str:
    """The target of a search in an owner's memories."""
    return f"{owner(owner_id)}/search"


def memory(owner_id: str, memory_id: str, **query: str) -> str:
    """A memory's page, by any id that it ever had."""
    return _with(f"{owner(owner_id)}/memories/{quote(memory_id, safe='')}", query)


def timeline(owner_id: str, memory_id: str) -> str:
    """A memory's timeline, as a part of its page."""
    return f"{memory(owner_id, memory_id)}/timeline"


def take_back(owner_id: str, memory_id: str, some_id: str, **query: str) -> str:
    """The page that shows what undoing an id would do, for a memory's page."""
    return _with(f"{memory(owner_id, memory_id)}/take-back", {"id": some_id} | query)


def queue(owner_id: str) -> str:
    """The waiting pairs of an owner."""
    return _with(PAGES, {"in_owner": owner_id})


def days(**query: str) -> str:
    """The page of the last days, side by side."""
    return _with(f"{PAGES}/days", query)


def day(when: date) -> str:
    """One day's page."""
    return f"{days()}/{when.isoformat()}"


def policies() -> str:
    """The policies that were ever in force."""
    return f"{PAGES}/policies"


def policy(policy_hash: str) -> str:
    """A policy's page."""
    return f"{policies()}/{quote(policy_hash, safe='')}"


def _with(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
