"""How questions are compared with texts, by model (docs/python.md#recall)."""

from __future__ import annotations

from collections.abc import Mapping

from palimpsest.streams.embedder.contract import DEFAULT_MODEL, INT8_MODEL
from palimpsest.streams.embedder.resolve import MULTILINGUAL_MODEL

MIN_SCORES: Mapping[str, float] = {
    DEFAULT_MODEL: 0.175,
    INT8_MODEL: 0.175,
    MULTILINGUAL_MODEL: 0.79,
}
"""By model, the score below which an agent is shown no memories unless it asks for them.

At most 2.5 % of the questions with an answer lose it (`python -m bench unrelated`). For other
models nothing is known, so nothing is left out.
"""

NAME_SHARES: Mapping[str, float] = {DEFAULT_MODEL: 0.15, INT8_MODEL: 0.15}
"""By model, the share of the vector of an owner's name that is subtracted from a question's vector.

To these models a rare name is most of what a short question says, so that *Which company employs
Nils?* would find whatever begins with *Nils*. For other models nothing is known.
"""
