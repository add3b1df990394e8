"""Embedding: finding models, engines that run them, and the thread that they run on."""

from palimpsest.contracts.errors import ModelError
from palimpsest.streams.embedder.background import Embedder
from palimpsest.streams.embedder.contract import (
    DEFAULT_MODEL,
    Embedding,
    Engine,
    EngineMissing,
    ModelNotFound,
    ModelUnusable,
    Progress,
)
from palimpsest.streams.embedder.load import load_engine

__all__ = [
    "DEFAULT_MODEL",
    "Embedder",
    "Embedding",
    "Engine",
    "EngineMissing",
    "ModelError",
    "ModelNotFound",
    "ModelUnusable",
    "Progress",
    "load_engine",
]
