"""Policies as files: the presets that are shipped, and people's own (docs/design.md)."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Policy


def preset_names() -> list[str]:
    """The shipped presets, by name."""
    folder = files(__name__).iterdir()
    return sorted(Path(f.name).stem for f in folder if f.name.endswith(".toml"))


def load_policy(name_or_file: str) -> Policy:
    """A preset by its name, or a policy file by its path (`.toml`).

    Raises UsageError, naming the key that is wrong, for what is not a policy.
    """
    if name_or_file in preset_names():
        text = files(__name__).joinpath(f"{name_or_file}.toml").read_text()
        return parse_policy(text, name_or_file)
    file = Path(name_or_file)
    if not file.is_file():
        known = ", ".join(preset_names())
        raise UsageError(f"no preset and no file is named {name_or_file!r}; presets: {known}")
    try:
        return parse_policy(file.read_text(encoding="utf-8"), name_or_file)
    except UnicodeDecodeError:
        raise UsageError(f"{name_or_file} is no text in UTF-8") from None


def parse_policy(text: str, origin: str) -> Policy:
    """A policy from TOML text; `origin` is named in errors."""
    try:
        return Policy.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin} is not TOML: {error}") from None
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, e['loc'])) or 'policy'}: {e['msg']}" for e in error.errors())
        raise UsageError(f"{origin} is no policy: " + "; ".join(lines)) from None
