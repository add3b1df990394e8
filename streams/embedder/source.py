"""Provides a process's embedders: for the configured model, and for others by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from palimpsest.contracts.errors import ModelError, UsageError
from palimpsest.contracts.extras import extra_message
from palimpsest.streams.embedder.background import Embedder
from palimpsest.streams.embedder.contract import DEFAULT_MODEL, Engine, EngineMissing, ModelNotFound
from palimpsest.streams.embedder.function_engine import EmbedFunction, FunctionEngine
from palimpsest.streams.embedder.settings import EmbedderSettings
from palimpsest.streams.home_path import expand_home


@dataclass(frozen=True)
class EmbedderSource:
    """Loads embedders. `load` loads a local model by its name, folder or hub name.

    `configured` is such a name, if one is configured. `given` is a service or function that is used
    instead; for a function, `configured` is the name that the log records.
    """

    load: Callable[[str], Engine]
    configured: str | None = None
    given: EmbedderSettings | EmbedFunction | None = None

    def __post_init__(self) -> None:
        if self.given is None or isinstance(self.given, EmbedderSettings):
            return
        if self.configured is None:
            raise UsageError("an embedder that is a function needs `model`: the name to record")

    @property
    def model(self) -> str | None:
        """The configured model as the log records it; None if none is configured."""
        if isinstance(self.given, EmbedderSettings):
            return self.given.model
        if self.configured is None or self.given is not None:
            return self.configured
        return model_name(self.configured)

    def why_not(self, in_force: str | None) -> str | None:
        """What is wrong with the configured model, with the remedy; None if nothing is.

        It may be another than the one in force, or its folder may be missing.
        """
        if self.model not in {None, in_force} and in_force is not None:
            return model_mismatch(in_force, self.model)
        path = self.configured
        if self.given is None and path and _is_path(path) and not expand_home(path).is_dir():
            return (
                f"the configured model, the folder {path}, is not there: put the model's files"
                " back, or set `model` (PALIMPSEST_MODEL) to where they are"
            )
        return None

    def engine(self, default: str = DEFAULT_MODEL) -> Engine:
        """The engine of the configured model, else of the default one."""
        if isinstance(self.given, EmbedderSettings):
            return _service(self.given)
        if self.given is not None:
            return FunctionEngine(self.given, self.configured or "")
        return self.load(self.configured or default)

    def of(self, model: str) -> Embedder:
        """An embedder with a model, on a thread of its own; raises as `engine_of` does."""
        return Embedder(self.engine_of(model))

    def engine_of(self, model: str) -> Engine:
        """The engine of a model that a policy names.

        Raises ModelError; if another model is configured, it is a ModelNotFound that names both.
        """
        if self.model == model:
            return self.engine()
        if self.model is None:
            return self.load(model)
        try:
            return self.load(model)
        except ModelError as error:
            raise ModelNotFound(f"{model_mismatch(model, self.model)} ({error})") from error


def model_mismatch(in_force: str, configured: str | None) -> str:
    """What is wrong if a store compares by another model than is configured, and the remedy."""
    return (
        f"the store compares vectors of {in_force}, and {configured} is configured: set `model`"
        f" (PALIMPSEST_MODEL) to {in_force} or its folder, or move the store to {configured} with"
        f" `palimpsest embed --model {configured}`"
    )


def model_name(model: str) -> str:
    """The name that the log records for a model, given its folder or name."""
    path = expand_home(model)
    if path.is_dir() or _is_path(model):
        return path.resolve().name
    return model.removeprefix("sentence-transformers/")


def _is_path(model: str) -> bool:
    return Path(model).is_absolute() or model.startswith((".", "~"))


def _service(settings: EmbedderSettings) -> Engine:
    try:
        from palimpsest.streams.embedder.openai_engine import openai_engine
    except ImportError as error:
        raise EngineMissing(extra_message("an embedding service", "judge")) from error
    return openai_engine(settings)
