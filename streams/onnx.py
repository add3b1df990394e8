"""ONNX Runtime, imported the one way that sends no telemetry."""

from __future__ import annotations

import os
from types import ModuleType


def runtime() -> ModuleType:
    """The `onnxruntime` module, imported when first asked for.

    It sends telemetry by default, and reads the variable that says no once, when it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    module: ModuleType = onnxruntime
    return module
