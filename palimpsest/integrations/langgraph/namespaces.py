"""Namespaces: as one text, and the conditions on them."""

from __future__ import annotations

from urllib.parse import unquote

from langgraph.store.base import MatchCondition

Namespace = tuple[str, ...]


def written(namespace: Namespace) -> str:
    """A namespace of LangGraph as one of ours: `("memories", "ada")` is `memories.ada`."""
    return ".".join(part.replace("%", "%25").replace(".", "%2E") for part in namespace)


def read(namespace: str) -> Namespace:
    """Reverse `written`."""
    return tuple(map(unquote, namespace.split(".")))


def until_wildcard(condition: MatchCondition) -> Namespace:
    """The part of a condition's path before its first wildcard."""
    path = tuple(condition.path)
    return path[: path.index("*")] if "*" in path else path


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins, or ends, as a condition says; `*` stands for any part."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", found) for wanted, found in zip(path, part, strict=True))
