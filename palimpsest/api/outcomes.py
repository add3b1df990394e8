"""What became of an offered text, in words for a model: codes such as `auto_reject` mislead it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.write.inputs import EXPIRED

Became = Literal["stored", "joined", "waiting", "withheld"]
"""What became of a text on which the store has decided."""

SENTENCES: Mapping[Became, str] = {
    "stored": "Stored as {memory}.",
    "joined": "Joined {memory}, which says the same; nothing was lost.",
    "waiting": "Stored as {memory}; waiting for a check whether another memory says the same.",
    "withheld": "Withheld: this text was forgotten before, and a search does not find it"
    " unless a person lets it in.",
}

MEANWHILE = " A search finds it meanwhile."
OVER = " It has expired already: a search finds it only with show_expired."

EARLIER = "Said before with another value; to replace it: {way}:"
"""The heading of the memories in an outcome's frame; `way` is the tool that replaces one."""


def became(outcome: Mapping[str, Any]) -> Became:
    """What became of a text, according to the fields of its outcome."""
    if outcome["reason"] == FORGOTTEN:
        return "withheld"
    if outcome["decision"] == "pending":
        return "waiting"
    joined = outcome["joined_to"] or outcome["memory_id"] != outcome["candidate_id"]
    return "joined" if joined else "stored"


def say_outcome(outcome: Mapping[str, Any], memory_id: str) -> str:
    """Say what became of a text, from the fields of its outcome.

    `memory_id` is the id that the model may use.
    """
    if outcome["result"] == "published":
        return "Sent: a worker of the cluster stores it, or joins it to a known memory."
    known = "Known already by this id; nothing was added. " if outcome["result"] == "known" else ""
    what = became(outcome)
    found = MEANWHILE if what == "waiting" else ""
    found = OVER if outcome["reason"] == EXPIRED else found
    return known + SENTENCES[what].format(memory=f"memory {memory_id}") + found
