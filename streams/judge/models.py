"""Services' models: context size, maximum answer, prices; the cost of calls and verdicts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from msgspec import structs
from pydantic import BaseModel, ConfigDict, Field

from palimpsest.contracts.evidence import FirstAnswer, Verdict

CACHING = 1.25
"""The price of input that the service writes to its cache, as a multiple of the input price."""
_DATE = re.compile(r"-\d{8}$")

Tokens = Annotated[int, Field(ge=0, lt=2**40)]
"""A count of tokens; a larger one is no count, and would not fit into the views."""


class Usage(BaseModel):
    """Token counts that the service reports for an answer; `input_tokens` excludes cached ones."""

    model_config = ConfigDict(frozen=True, strict=True)

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None

    @property
    def read(self) -> int:
        """All input tokens of the request."""
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return self.input_tokens + cached


class Tier(BaseModel):
    """USD per million tokens of input and output, for requests of at most `up_to` input tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float
    output: float
    up_to: int | None = None

    def holds(self, tokens: int) -> bool:
        """Whether these prices apply to a request of this many tokens."""
        return self.up_to is None or tokens <= self.up_to


class JudgeModel(BaseModel):
    """A model's limits in tokens, and its prices; without tiers its cost is unknown.

    `reread` is the price of input that the service has cached, as a multiple of the input price.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: int
    answer: int
    tiers: tuple[Tier, ...] = ()
    reread: float = 1.0

    def cost(self, usage: Usage) -> float | None:
        """USD for these tokens; None if no price is known."""
        tier = next((tier for tier in self.tiers if tier.holds(usage.read)), None)
        if tier is None:
            return None
        written = CACHING * (usage.cache_creation_input_tokens or 0)
        reread = self.reread * (usage.cache_read_input_tokens or 0)
        priced = tier.input * (usage.input_tokens + written + reread)
        return (priced + tier.output * usage.output_tokens) / 1_000_000


UNKNOWN = JudgeModel(context=200_000, answer=32_000)
"""The assumed limits of a model that is not listed."""


def model(name: str) -> JudgeModel:
    """Return a model by its name, with or without a release date; `UNKNOWN` if it is not listed."""
    known = _known()
    return known.get(name) or known.get(_DATE.sub("", name)) or UNKNOWN


@cache
def _known() -> dict[str, JudgeModel]:
    text = files("palimpsest.streams.judge").joinpath("models.toml").read_text(encoding="utf-8")
    return {name: JudgeModel.model_validate(table) for name, table in tomllib.loads(text).items()}


# -- what calls cost -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens, USD, seconds and calls; `usd` is None if the model's prices are unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    calls: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
            self.seconds + other.seconds,
            self.calls + other.calls,
        )

    def parts(self, count: int) -> list[Cost]:
        """Split the cost into `count` equal parts; the first ones take the remaining tokens."""
        return [
            Cost(
                _part(self.input_tokens, count, number),
                _part(self.output_tokens, count, number),
                None if self.usd is None else self.usd / count,
                self.seconds / count,
                self.calls / count,
            )
            for number in range(count)
        ]


NOTHING = Cost()
"""The cost of a cached answer."""


def _part(whole: int, count: int, number: int) -> int:
    return whole // count + (number < whole % count)


# -- costs that move between verdicts, so that the log counts each call once ---------------------

_COSTS = ("calls", "input_tokens", "output_tokens", "cost_usd", "seconds")


def cost_of(said: Verdict | FirstAnswer) -> Cost:
    """The cost that a verdict carries."""
    return Cost(
        said.input_tokens or 0,
        said.output_tokens or 0,
        said.cost_usd,
        said.seconds or 0.0,
        said.calls or 0.0,
    )


def at_no_cost(verdict: Verdict) -> Verdict:
    """The verdict on equal texts, whose cost another verdict carries."""
    first = verdict.first and structs.replace(verdict.first, **_zeros(verdict.first))
    return structs.replace(verdict, first=first, **_zeros(verdict))


def costs_of_both(one: Verdict | FirstAnswer, other: Verdict | FirstAnswer) -> dict[str, Any]:
    """The fields with the costs of two; the price is unknown if that of either's calls is."""
    costs = {name: _sum(getattr(one, name), getattr(other, name)) for name in _COSTS}
    if any(said.calls and said.cost_usd is None for said in (one, other)):
        costs["cost_usd"] = None
    return costs


def with_costs_of(verdict: Verdict, earlier: Verdict) -> Verdict:
    """The verdict, also with the cost of an earlier attempt that ended without an answer.

    That attempt may have been answered in part: by the first of two judges, or in one order.
    """
    whole = structs.replace(verdict, **costs_of_both(verdict, earlier))
    if earlier.first is None:
        return whole
    if verdict.certificate is not None:  # the first judge answers, so its costs are the verdict's
        return structs.replace(whole, **costs_of_both(whole, earlier.first))
    if verdict.first is None:
        return structs.replace(whole, first=earlier.first)
    both = structs.replace(verdict.first, **costs_of_both(verdict.first, earlier.first))
    return structs.replace(whole, first=both)


def is_paid(verdict: Verdict) -> bool:
    """Whether any call was answered for it."""
    return bool(verdict.calls or (verdict.first and verdict.first.calls))


def _zeros(said: Verdict | FirstAnswer) -> dict[str, int]:
    return {name: 0 for name in _COSTS if getattr(said, name) is not None}


def _sum(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b
