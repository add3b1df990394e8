"""Groups of pairs that share a text, which are not independent evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def groups_of(pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
    """The numbers of the pairs that share a text, directly or through others, group by group."""
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while (above := parent.setdefault(text, text)) != text:
            parent[text] = parent[above]
            text = above
        return text

    for a, b in pairs:
        parent[root(a)] = root(b)
    groups: dict[str, list[int]] = {}
    for number, (a, _) in enumerate(pairs):
        groups.setdefault(root(a), []).append(number)
    return [*groups.values()]
