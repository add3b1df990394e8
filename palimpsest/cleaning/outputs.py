"""The files that a cleaning writes: all of them whole, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from palimpsest.contracts.errors import RefusedError, UsageError

Write = Callable[[Path], object]


def refuse_targets(source: Path | None, targets: Mapping[str, Path | None], *, force: bool) -> None:
    """RefusedError for a target that exists, unless forced; UsageError for an impossible one."""
    seen: dict[Path, str] = {} if source is None else {source.resolve(): "the file itself"}
    for option, target in targets.items():
        if target is None:
            continue
        if not target.parent.is_dir():
            raise UsageError(f"{option}: there is no folder {target.parent}")
        if target.is_dir():
            raise UsageError(f"{option}: {target} is a folder")
        if target.resolve() in seen:
            raise UsageError(f"{option}: {target} is {seen[target.resolve()]}")
        if target.exists() and not force:
            detail = f"{target} exists already: --force overwrites it"
            raise RefusedError("target_exists", detail)
        seen[target.resolve()] = f"that of {option}"


def write_all(writes: Mapping[Path, Write]) -> None:
    """Write files under temporary names beside their own, and rename them once all are complete.

    OSError leaves what was there.
    """
    parts = {to: to.with_name(f".{to.name}.{uuid4().hex[:8]}.part") for to in writes}
    try:
        for to, write in writes.items():
            write(parts[to])
        for to, part in parts.items():
            part.replace(to)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
