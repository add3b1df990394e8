"""Embedding: finding models, engines that run them, and the thread that they run on."""

from palimpsest.contracts.errors import ModelError
from palimpsest.streams.embedder.background import Embedder
from palimpsest.streams.embedder.contract import (
    DEFAULT_MODEL,
    INT8_MODEL,
    Embedding,
    Engine,
    EngineMissing,
    ModelNotFound,
    ModelUnusable,
    Progress,
    ServiceUnavailable,
    ignore_progress,
)
from palimpsest.streams.embedder.function_engine import EmbedFunction, require_local
from palimpsest.streams.embedder.load import load_engine
from palimpsest.streams.embedder.settings import EmbedderSettings
from palimpsest.streams.embedder.source import EmbedderSource

__all__ = [
    "DEFAULT_MODEL",
    "INT8_MODEL",
    "EmbedFunction",
    "Embedder",
    "EmbedderSettings",
    "EmbedderSource",
    "Embedding",
    "Engine",
    "EngineMissing",
    "ModelError",
    "ModelNotFound",
    "ModelUnusable",
    "Progress",
    "ServiceUnavailable",
    "ignore_progress",
    "load_engine",
    "require_local",
]
