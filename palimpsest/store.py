"""An alias of `palimpsest.api.store`, for programs that import it by its former name.

It also has `fresh`, which makes the id of a request: if a program sets it to another function, the
facade takes the ids of later requests from that function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from palimpsest.api import store
from palimpsest.contracts import requested
from palimpsest.contracts.requested import fresh_id as fresh

__all__ = ["fresh"]


class _Store(ModuleType):
    """Looks names up in `palimpsest.api.store`, and sets them there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(store, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "fresh":
            setattr(store, name, value)
            return
        super().__setattr__(name, value)
        vars(requested)["fresh_id"] = value


sys.modules[__name__].__class__ = _Store
