"""Paths that may begin with `~`, as in a shell: settings and arguments do not pass through one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator


def expand_home(path: str | os.PathLike[str]) -> Path:
    """The path with a home folder in place of a `~` at its beginning, if there is one."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser can raise


def _read_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ValueError("should be a path, as a string")
    return expand_home(path)


HomePath = Annotated[Path, BeforeValidator(_read_path)]
"""A path in the settings, which may begin with `~`."""
