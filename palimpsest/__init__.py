"""Palimpsest: memories of agents without duplicates, and every merge can be taken back.

>>> from palimpsest import Palimpsest
>>> with Palimpsest.open("memories") as memories:
...     memories.submit({"owner_id": "ada", "text": "Ada lives in Paris."})
...     memories.recall("ada", "where does she live?")
"""

from typing import TYPE_CHECKING, Any

from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)

if TYPE_CHECKING:
    from palimpsest.api.asynchronous import AsyncPalimpsest
    from palimpsest.api.store import Palimpsest

__all__ = [
    "AsyncPalimpsest",
    "InvalidInputError",
    "ModelError",
    "Palimpsest",
    "PalimpsestError",
    "RefusedError",
    "StoreError",
    "TransientError",
    "UsageError",
]


def __getattr__(name: str) -> Any:
    """Import the store when it is first asked for: `palimpsest --help` needs none of it."""
    if name == "AsyncPalimpsest":
        from palimpsest.api.asynchronous import AsyncPalimpsest

        return AsyncPalimpsest
    if name == "Palimpsest":
        from palimpsest.api.store import Palimpsest

        return Palimpsest
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
