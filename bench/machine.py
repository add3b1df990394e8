"""Describes the machine in one line: a figure means nothing without it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

FLAGS = ("avx2", "f16c", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8")
PACKAGES = ("numpy", "onnxruntime", "lancedb", "duckdb", "pyarrow", "pydantic")


def machine() -> str:
    """Cores, processor, its relevant flags, load, and versions."""
    model, flags = _processor()
    known = " ".join(flag for flag in FLAGS if flag in flags) or "flags unknown"
    load = f"load {os.getloadavg()[0]:.1f}"
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = f"Python {platform.python_version()} on {platform.system()}"
    return f"{os.cpu_count()} cores, {model} ({known}), {load}; {python}; {versions}"


def _processor() -> tuple[str, set[str]]:
    described = Path("/proc/cpuinfo")
    if not described.is_file():
        return platform.machine(), set()
    lines = described.read_text("utf-8", "replace").splitlines()
    known = dict(
        reversed([[p.strip() for p in line.split(":", 1)] for line in lines if ":" in line])
    )
    return known.get("model name", platform.machine()), set(known.get("flags", "").split())
