"""Dear packages are imported with the first test that needs them.

Each process of pytest-xdist collects every file, but few of them run its tests.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest


def with_first_test(module: str, names: dict[str, Any]) -> Any:
    """A fixture that puts all that a module exports among a test module's names."""

    @pytest.fixture(autouse=True, scope="module")
    def import_now() -> None:
        names.update(_exported(import_module(module)))

    return import_now


def _exported(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}
