"""Embeds the texts that a writer decides on, and handles a model that is down."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Vector
from palimpsest.contracts.policy import Policy
from palimpsest.streams.embedder import (
    Embedder,
    Embedding,
    Engine,
    ModelError,
    ModelUnusable,
    ServiceUnavailable,
    require_local,
)
from palimpsest.streams.write.windows import Window

_log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Pause before a model that is down is tried again: loading it may take seconds."""
_DOWN = "the model is down (`palimpsest doctor` says why): send the request again once it is back"


class Vectors:
    """Embeds texts. If the model is down, the policy's `embedder_fails` says what happens.

    With `stop`, the error is raised. With `store`, one warning is logged, there are no vectors, and
    the model is tried again after `RETRY_SECONDS`. A UsageError is raised in any case.
    """

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self._down_until: float | None = None
        self._failed_with: Exception | None = None

    def _is_left_alone(self, policy: Policy) -> bool:
        """Whether the model failed so recently that it is not tried again yet."""
        recent = self._down_until is not None and time.monotonic() < self._down_until
        return recent and policy.embedder_fails == "store"

    def try_again(self) -> None:
        """Try the model next time, even if it failed a moment ago."""
        self._down_until = None

    def submit(
        self, texts: Sequence[str], policy: Policy, *, ahead: bool = True
    ) -> Future[list[Embedding]] | None:
        """Embed texts on the embedder's thread; None if there are none, or the model is down.

        If the caller does nothing else until it has the vectors (not `ahead`), a single text is
        embedded on its thread.
        """
        if not texts or self._is_left_alone(policy):
            return None
        try:
            embedder = self._local(policy)
            alone = not ahead and len(texts) == 1
            return embedder.submit_waiting(texts) if alone else embedder.submit(texts)
        except Exception as error:  # noqa: BLE001 - whatever a model fails with
            self._continue_without(error, policy)
            return None

    def of(self, window: Window, policy: Policy) -> dict[str, Vector]:
        """Wait for the vectors of a window's texts; none if the model was down."""
        try:
            embedded = window.embedded()
        except Exception as error:  # noqa: BLE001 - whatever a model fails with
            self._continue_without(error, policy)
            return {}
        if embedded:
            self._down_until = None
        return {text: self.vector(embedding, policy) for text, embedding in embedded.items()}

    def now(self, text: str, policy: Policy) -> Vector | None:
        """Wait for the vector of one text; None if the model is down."""
        return self.all([text], policy).get(text)

    def all(self, texts: Sequence[str], policy: Policy) -> dict[str, Vector]:
        """Wait for the vectors of some texts; empty if the model is down."""
        future = self.submit(texts, policy, ahead=False)
        return self.of(Window((), texts, future), policy) if future else {}

    def required(self, text: str, policy: Policy) -> Vector:
        """The vector of a text that needs one.

        If the model is down, raises ModelUnusable if it cannot be used, else ServiceUnavailable;
        under `stop`, the model's error.
        """
        if self._is_left_alone(policy):
            raise _down(self._failed_with)
        try:
            embedding = self._local(policy).embed_now(text)
        except Exception as error:
            self._continue_without(error, policy)
            raise _down(error) from error
        self._down_until = None
        return self.vector(embedding, policy)

    def _local(self, policy: Policy) -> Embedder:
        embedder = self._embedder()
        require_local(embedder.engine, policy)
        return embedder

    def vector(self, embedding: Embedding, policy: Policy) -> Vector:
        """An embedding as recorded. Raises UsageError if its model is not the policy's."""
        engine = self._embedder().engine
        if engine.model != policy.model:
            raise UsageError(
                f"the policy {policy.name} has thresholds for {policy.model},"
                f" not for {engine.model}: open a new store with a policy whose `model` is"
                f" {engine.model}, or move this one with `palimpsest embed --model {engine.model}`"
            )
        return recorded_vector(embedding, engine)

    def _continue_without(self, error: Exception, policy: Policy) -> None:
        """Fail open if the policy allows it, else stop."""
        if policy.embedder_fails == "stop" or isinstance(error, UsageError):
            raise error
        if self._down_until is None:
            _log.warning("DEDUP_FAIL: the embedder is down, no meanings are compared: %s", error)
        self._down_until = time.monotonic() + RETRY_SECONDS
        self._failed_with = error


def _down(error: Exception | None) -> ModelError:
    """What a request is told that needs a vector of a model that failed."""
    if isinstance(error, ModelUnusable):
        return ModelUnusable(str(error))
    return ServiceUnavailable(_DOWN)


def recorded_vector(embedding: Embedding, engine: Engine) -> Vector:
    """An embedding as events record it."""
    windows = None if embedding.windows is None else (*map(_encoded, embedding.windows),)
    return Vector(
        model=engine.model,
        engine=embedding.origin or engine.name,
        dimension=engine.dimension,
        data=_encoded(embedding.vector),
        truncated=embedding.truncated,
        unknown=embedding.unknown,
        windows=windows,
    )


def _encoded(numbers: NDArray[np.float16]) -> str:
    return base64.b64encode(numbers.astype("<f2").tobytes()).decode()
