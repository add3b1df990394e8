"""Settings of an embedding service: `[embedder]` in palimpsest.toml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class EmbedderSettings(BaseModel):
    """A service that speaks OpenAI's Embeddings API, in place of a model on this machine.

    `base_url` is the service's address; it defaults to OPENAI_BASE_URL, then to the vendor's. The
    key is read from OPENAI_API_KEY. `model` is sent, and recorded as the model's name. `dimensions`
    asks for shorter vectors, if the model has them. If a text is longer than `characters`, the rest
    is embedded in parts of that length. One attempt may take `timeout` seconds; after a failure
    there are up to `retries` more.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Literal["openai"]
    model: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = None
    characters: Annotated[int, Field(ge=100)] = 8_000
    timeout: Annotated[float, Field(gt=0.0)] = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
