"""Texts to vectors: models found, engines that run them, and the thread that they run on."""

from contracts.errors import ModelError
from streams.embedder.background import Embedder
from streams.embedder.contract import (
    DEFAULT_MODEL,
    Embedding,
    Engine,
    EngineMissing,
    ModelNotFound,
    ModelUnusable,
    Progress,
)
from streams.embedder.load import load_engine

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
