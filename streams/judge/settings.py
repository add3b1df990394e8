"""How the service is asked: how much at once, how patiently, and for how much a day."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0.0)]


class JudgeSettings(BaseModel):
    """Settings of `[judge]` in palimpsest.toml; what is asked is the policy's.

    `concurrency` requests are under way at once and `calls_per_second` begun. One attempt may take
    `timeout` seconds, all `retries` of it `patience`; requests of many pairs have longer. A day is
    a day in UTC. The key is read from the environment alone (ANTHROPIC_API_KEY), by the service's
    own SDK, and so is ANTHROPIC_BASE_URL where `base_url` is not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    calls_per_second: Positive = 20.0
    daily_calls: Annotated[int, Field(ge=0)] | None = 20_000
    daily_usd: Annotated[float, Field(ge=0.0)] | None = None
    timeout: Positive = 60.0
    patience: Positive = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
