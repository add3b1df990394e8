"""Settings of the service: concurrency, rate, timeouts and the day's budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0.0)]


class JudgeSettings(BaseModel):
    """Settings of `[judge]` in palimpsest.toml; the policy has the questions.

    At most `concurrency` requests run at a time, and `calls_per_second` start. One attempt may take
    `timeout` seconds, all `retries` together `patience`; requests of many pairs may take longer. A
    day is a day in UTC. The service's SDK reads the key from the environment (ANTHROPIC_API_KEY),
    and ANTHROPIC_BASE_URL if `base_url` is not set.
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
