"""What became of an offered text, in words for a model: codes such as `auto_reject` mislead it."""

from __future__ import annotations

from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.write.inputs import Outcome


def say_outcome(kept: Outcome) -> str:
    """What became of a text, and the earlier memories that say the same up to one value."""
    memory = f"memory {kept.memory_id}"
    if kept.result == "published":
        told = "Sent: it is remembered soon."
    elif kept.reason == FORGOTTEN:
        told = "Withheld: this was forgotten before, and no search finds it."
    elif kept.decision == "pending":
        told = f"Remembered as {memory}; whether another one says the same is checked later."
    elif kept.joined_to or kept.memory_id != kept.candidate_id:
        told = f"Known already: {memory} says the same."
    else:
        told = f"Remembered as {memory}."
    earlier = [f"{one['id']}: {one['assertion']}" for one in kept.frame or ()]
    if earlier:
        earlier.insert(0, "Said before with another value; to replace one, use correct_memory:")
    return "\n".join((told, *earlier))
