"""Palimpsest: agents' memories without duplicates; every merge can be undone.

>>> from palimpsest import Palimpsest
>>> with Palimpsest.open("memories") as memories:
...     memories.submit({"owner_id": "ada", "text": "Ada lives in Paris."})
...     memories.recall("ada", "where does she live?")
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing` would be imported before an interrupt can be caught

if TYPE_CHECKING:
    from typing import Any

    from palimpsest.api.agent import Agent
    from palimpsest.api.asynchronous import AsyncPalimpsest
    from palimpsest.api.store import Palimpsest
    from palimpsest.cleaning.tables import clean
    from palimpsest.contracts.candidate import Candidate
    from palimpsest.contracts.errors import (
        InvalidInputError,
        ModelError,
        PalimpsestError,
        RefusedError,
        StoreError,
        TransientError,
        UsageError,
        WrongFileError,
    )
    from palimpsest.contracts.evidence import Verdict
    from palimpsest.contracts.policy import Policy
    from palimpsest.contracts.requests import JoinSelection, Selection, SettleRequest

__all__ = [
    "Agent",
    "AsyncPalimpsest",
    "Candidate",
    "InvalidInputError",
    "JoinSelection",
    "ModelError",
    "Palimpsest",
    "PalimpsestError",
    "Policy",
    "RefusedError",
    "Selection",
    "SettleRequest",
    "StoreError",
    "TransientError",
    "UsageError",
    "Verdict",
    "WrongFileError",
    "clean",
]

_IMPORTED_LATER = {
    "Agent": "api.agent",
    "AsyncPalimpsest": "api.asynchronous",
    "Candidate": "contracts.candidate",
    "InvalidInputError": "contracts.errors",
    "JoinSelection": "contracts.requests",
    "ModelError": "contracts.errors",
    "Palimpsest": "api.store",
    "PalimpsestError": "contracts.errors",
    "Policy": "contracts.policy",
    "RefusedError": "contracts.errors",
    "Selection": "contracts.requests",
    "SettleRequest": "contracts.requests",
    "StoreError": "contracts.errors",
    "TransientError": "contracts.errors",
    "UsageError": "contracts.errors",
    "Verdict": "contracts.evidence",
    "WrongFileError": "contracts.errors",
    "clean": "cleaning.tables",
}
"""The module of each name that is imported on first use: `palimpsest --help` needs none of them."""


def __getattr__(name: str) -> Any:
    """Import one of these names when it is first used; AttributeError for any other."""
    from importlib import import_module

    if name not in _IMPORTED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_IMPORTED_LATER[name]}"), name)
