"""Imports ONNX Runtime without telemetry."""

from __future__ import annotations

import os
from types import ModuleType


def runtime() -> ModuleType:
    """The `onnxruntime` module, imported on first use.

    It sends telemetry by default; the variable that disables it is read only at import.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    module: ModuleType = onnxruntime
    return module
