"""Policies as files: the presets that are shipped, and users' own (docs/design.md)."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import wrong_keys
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.toml import parse_toml
from palimpsest.streams.policies.languages import with_languages


def preset_file(name: str) -> Traversable | None:
    """The file of a shipped preset; None if no preset has this name."""
    if name in preset_names():
        return files(__name__).joinpath(f"{name}.toml")
    if name in MODEL_PRESETS.values():
        return files(__name__).joinpath("models", f"{name}.toml")
    return None


def preset_names() -> list[str]:
    """The shipped presets for the default model, by name."""
    folder = files(__name__).iterdir()
    return sorted(Path(f.name).stem for f in folder if f.name.endswith(".toml"))


MODEL_PRESETS = {
    "all-MiniLM-L6-v2-int8": "standard-int8",
    "multilingual-e5-small": "multilingual",
}
"""The preset with thresholds for each of these models; the presets of `preset_names` are for
`DEFAULT_MODEL`."""


def default_policy(model: str | None = None) -> str:
    """The preset for a new store if no policy is named: that of the model, by its recorded name."""
    return MODEL_PRESETS.get(model or "", "standard")


def load_policy(given: str | Policy) -> Policy:
    """A preset by its name, a policy file by its path (`.toml`), or a policy, which is checked.

    Raises UsageError, which names the wrong key, for anything that is not a policy.
    """
    if isinstance(given, Policy):
        # `model_copy(update=…)` accepts values of any type.
        try:
            return Policy.model_validate(given.model_dump(warnings="none"))
        except ValidationError as error:
            raise UsageError(f"{given.name} is not a policy: {wrong_keys(error)}") from None
    name_or_file = given
    shipped = preset_file(name_or_file)
    if shipped is not None:
        return parse_policy(shipped.read_text(), name_or_file)
    file = Path(name_or_file)
    try:
        if not file.is_file():
            known = ", ".join([*preset_names(), *MODEL_PRESETS.values()])
            raise UsageError(f"no preset and no file is named {name_or_file!r}; presets: {known}")
        return parse_policy(file.read_bytes(), name_or_file, file.parent)
    except OSError as error:
        raise UsageError(f"{name_or_file} cannot be read: {error.strerror}") from None


def parse_policy(text: str | bytes, origin: str, folder: Path = Path()) -> Policy:
    """A policy from TOML text, whose language files are in `folder`.

    Raises UsageError, which names `origin`.
    """
    try:
        return Policy.model_validate(with_languages(parse_toml(text, origin), folder))
    except ValidationError as error:
        kinds = {wrong["type"] for wrong in error.errors()}
        advice = "; start from a complete one, as `palimpsest policy show standard` prints it"
        advice *= "missing" in kinds
        for wrong in error.errors() if "extra_forbidden" in kinds else ():
            if len(wrong["loc"]) > 1 and wrong["loc"][-1] in Policy.model_fields:
                advice += f"; write {wrong['loc'][-1]} above the first table"
        raise UsageError(f"{origin} is not a policy: {wrong_keys(error)}{advice}") from None
