"""What is known of the service's models: how much they read and write, and what that costs."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MILLION = 1_000_000
CACHING = 1.25
"""What input that the service caches costs, as a part of its price."""
_DATE = re.compile(r"-\d{8}$")


class Usage(BaseModel):
    """Tokens of one answer, as the service counts them; `input_tokens` are those not cached."""

    model_config = ConfigDict(frozen=True, strict=True)

    input_tokens: Annotated[int, Field(ge=0)] = 0
    output_tokens: Annotated[int, Field(ge=0)] = 0
    cache_creation_input_tokens: Annotated[int, Field(ge=0)] | None = None
    cache_read_input_tokens: Annotated[int, Field(ge=0)] | None = None

    @property
    def read(self) -> int:
        """All tokens of the request."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return self.input_tokens + cached


class Tier(BaseModel):
    """USD for a million tokens of input and output, where the input has at most `up_to`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float
    output: float
    up_to: int | None = None

    def holds(self, tokens: int) -> bool:
        """Whether these are the prices of a request with so many tokens."""
        return self.up_to is None or tokens <= self.up_to


class Model(BaseModel):
    """A model's limits in tokens, and its prices; without tiers its cost is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: int
    answer: int
    tiers: tuple[Tier, ...] = ()
    reread: float = 1.0

    def cost(self, usage: Usage) -> float | None:
        """USD for these tokens; None where no price is known."""
        tier = next((tier for tier in self.tiers if tier.holds(usage.read)), None)
        if tier is None:
            return None
        written = CACHING * (usage.cache_creation_input_tokens or 0)
        reread = self.reread * (usage.cache_read_input_tokens or 0)
        priced = tier.input * (usage.input_tokens + written + reread)
        return (priced + tier.output * usage.output_tokens) / MILLION


UNKNOWN = Model(context=200_000, answer=32_000)
"""What is taken for granted of a model that is not listed."""


def model(name: str) -> Model:
    """A model by its name, with or without the date of a release."""
    known = _known()
    return known.get(name) or known.get(_DATE.sub("", name)) or UNKNOWN


@cache
def _known() -> dict[str, Model]:
    text = files("palimpsest.streams.judge").joinpath("models.toml").read_text(encoding="utf-8")
    return {name: Model.model_validate(table) for name, table in tomllib.loads(text).items()}
