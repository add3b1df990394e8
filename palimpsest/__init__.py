"""Palimpsest: memories of agents without duplicates, and every merge can be taken back.

from palimpsest import Palimpsest

with Palimpsest.open("memories") as memories:
    memories.submit({"owner_id": "ada", "text": "Ada lives in Paris."})
    memories.recall("ada", "where does she live?")
"""

from contracts.errors import PalimpsestError, RefusedError, StoreError, UsageError
from palimpsest.store import Palimpsest

__all__ = ["Palimpsest", "PalimpsestError", "RefusedError", "StoreError", "UsageError"]
