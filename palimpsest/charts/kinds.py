"""Families of decisions: the kinds themselves are too many for a chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from palimpsest.contracts.events import Decision

FAMILIES: Mapping[str, tuple[Decision, ...]] = {
    "kept": ("stored", "llm_keep", "fallback_keep"),
    "repeated": ("hash_exact", "recent_capture"),
    "joined": (
        "token_reject",
        "session_reject",
        "auto_reject",
        "concatenated",
        "llm_reject",
        "llm_merge",
        "fallback_reject",
        "manual_join",
    ),
    "replaced": ("superseded", "fallback_supersede"),
    "asked": ("pending",),
    "invalid": ("invalid",),
}
"""The families in their order in charts; docs/review.md explains the names."""

FAMILY_OF: Mapping[str, str] = {kind: name for name, kinds in FAMILIES.items() for kind in kinds}


def happened(decision: str) -> str:
    """What a decision did, with its kind if that is another word: `joined (auto_reject)`."""
    family = FAMILY_OF.get(decision, decision)
    word = {"asked": "waiting"}.get(family, family)
    return decision if decision in (word, "stored") else f"{word} ({decision})"


def by_family(decisions: Mapping[str, int]) -> dict[str, int]:
    """The number of decisions per family, in the families' order, without empty ones."""
    found = Counter[str]()
    for decision, n in decisions.items():
        found[FAMILY_OF[decision]] += n
    return {name: found[name] for name in FAMILIES if found[name]}
