"""The files that a command writes: each is whole, and none is there unless all were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from palimpsest.contracts.errors import RefusedError, UsageError

Write = Callable[[Path], object]


def require_targets(targets: Mapping[str, Path | None]) -> None:
    """UsageError, before any work is done, if an option's file is a folder or has none to be in."""
    for option, target in targets.items():
        if target is not None and not target.parent.is_dir():
            raise UsageError(f"{option}: there is no folder {target.parent}")
        if target is not None and target.is_dir():
            raise UsageError(f"{option}: {target} is a folder")


def refuse_targets(source: Path | None, targets: Mapping[str, Path | None], *, force: bool) -> None:
    """RefusedError for a target that exists, unless forced; UsageError for an impossible one."""
    require_targets(targets)
    seen: dict[Path, str] = {} if source is None else {source.resolve(): "the file itself"}
    for option, target in targets.items():
        if target is None:
            continue
        if target.resolve() in seen:
            raise UsageError(f"{option}: {target} is {seen[target.resolve()]}")
        if target.exists() and not force:
            detail = f"{target} exists already: --force overwrites it"
            raise RefusedError("target_exists", detail)
        seen[target.resolve()] = f"that of {option}"


def write_whole(to: Path, content: str | bytes) -> None:
    """Write one file as `write_all` does; a text in UTF-8."""
    content = content.encode() if isinstance(content, str) else content
    write_all({to: lambda part: part.write_bytes(content)})


def write_all(writes: Mapping[Path, Write]) -> None:
    """Write files under temporary names beside their own, and rename them once all are complete.

    An exception before that leaves what was there; an OSError names the file. Pipes and devices are
    written to directly.
    """
    parts = {to: to for to in writes}
    for to in writes:
        if to.is_file() or not to.exists():
            real = to.resolve()
            parts[to] = real.with_name(f".{real.name}.{uuid4().hex[:8]}.part")
    try:
        for to, write in writes.items():
            try:
                write(parts[to])
            except OSError as error:
                if error.filename not in {None, str(parts[to])}:
                    raise
                raise OSError(error.errno, error.strerror, str(to)) from error
        for to, part in parts.items():
            if part != to:
                part.replace(to.resolve())
    finally:
        for to, part in parts.items():
            if part != to:
                part.unlink(missing_ok=True)
