"""Settings of the services: protocol, concurrency, rate, timeouts and the day's budget."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from palimpsest.contracts import policy
from palimpsest.streams.home_path import HomePath

Positive = Annotated[float, Field(gt=0.0)]
ModelName = Annotated[str, Field(min_length=1)]
Protocol = Literal["anthropic", "openai-chat", "openai-decisions", "systemone"]
Platform = Literal["bedrock", "vertex"]
"""Clouds that serve the models of `anthropic`, with keys and names of their own."""


class ServiceSettings(BaseModel):
    """Settings for requests to one service.

    `platform` is the cloud that serves the models of `anthropic`, if not the vendor itself. `model`
    replaces the policy's, which can only name models of the protocol `anthropic`. At most
    `concurrency` requests run at a time, and `calls_per_second` start. One attempt may take
    `timeout` seconds, and a request with all its `retries` `patience` seconds; requests of many
    pairs may take longer. A day is a day in UTC. The service's key is read from the environment
    variable that its vendor's SDK reads; so is the address if `base_url` is not set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Protocol = "anthropic"
    platform: Platform | None = None
    base_url: str | None = None
    model: ModelName | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    calls_per_second: Positive = 20.0
    daily_calls: Annotated[int, Field(ge=0)] | None = 20_000
    daily_usd: Annotated[float, Field(ge=0.0)] | None = None
    timeout: Positive = 60.0
    patience: Positive = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4

    @model_validator(mode="after")
    def _names_its_model(self) -> Self:
        if self.platform is not None and self.protocol != "anthropic":
            raise ValueError(f"platform {self.platform} has no protocol {self.protocol}")
        if self.platform is not None and self.model is None:
            raise ValueError(
                f"platform {self.platform} needs `model`: its models have names of their own"
            )
        if self.protocol != "anthropic" and self.model is None:
            raise ValueError(
                f"protocol {self.protocol} needs `model`: policies only name models of `anthropic`"
            )
        return self

    def over(self, rules: policy.Judge) -> policy.Judge:
        """A policy's rules with this model in place of their own."""
        if self.model is None:
            return rules
        return rules.model_copy(update={"model": self.model, "review_model": self.model})


class FirstJudgeSettings(ServiceSettings):
    """Settings of `[judge.first]`: a cheaper judge that is asked before `[judge]`.

    `certificate` is a file from `palimpsest calibrate`; without it, no answer of this judge settles
    anything. Its path is relative to the current folder.
    """

    model: ModelName
    certificate: HomePath | None = None


class JudgeSettings(ServiceSettings):
    """Settings of `[judge]` in palimpsest.toml; the policy says what is asked.

    `review_model` (by default `model`) replaces the policy's. `first` is the judge that is asked
    before this one, if there are two.
    """

    review_model: ModelName | None = None
    first: FirstJudgeSettings | None = None

    def over(self, rules: policy.Judge) -> policy.Judge:
        """A policy's rules with these models in place of their own."""
        rules = super().over(rules)
        if self.review_model is None:
            return rules
        return rules.model_copy(update={"review_model": self.review_model})
