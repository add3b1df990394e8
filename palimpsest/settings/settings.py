"""Settings that the command line leaves open, from PALIMPSEST_* and ./palimpsest.toml."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

import orjson
from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import wrong_keys
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.toml import parse_toml
from palimpsest.settings.namespaced import DedupSettings
from palimpsest.settings.schedule import Schedule
from palimpsest.settings.serve import ServeSettings
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.embedder.settings import EmbedderSettings
from palimpsest.streams.home_path import HomePath
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import default_policy

SETTINGS_FILE = "palimpsest.toml"
PREFIX = "PALIMPSEST_"
DEFAULT_STORE = Path(".palimpsest")
NO_JUDGE = (
    "no judge is configured, so questions wait: set [judge] in palimpsest.toml, or"
    " PALIMPSEST_JUDGE_PROTOCOL, or run `palimpsest verifier` (docs/judge.md)"
)


def _no_blank(store: object) -> object:
    if isinstance(store, str) and not store.strip():
        raise ValueError("is blank: `.` is this folder")
    return store


class _SettingsFile(TomlConfigSettingsSource):
    """The file of settings."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        try:
            return parse_toml(file_path.read_bytes(), SETTINGS_FILE)
        except OSError as error:
            raise UsageError(f"{SETTINGS_FILE} cannot be read: {error.strerror}") from error


class Settings(BaseSettings):
    """Settings, each looked up in the environment (`PALIMPSEST_STORE`), then ./palimpsest.toml.

    `policy` is for a new store, `engine` and `model` for the embedder; None means the store's own
    default. `actor` is recorded with a person's statements. `instance`, `standby` and
    `letters_per_minute` are a worker's, `data` is the folder of a worker or a verifier, and
    `web_port` the port of a worker's or projector's pages. `kafka` is the connection to a cluster:
    each part is an environment variable (`PALIMPSEST_KAFKA_BOOTSTRAP`) or a key of the table
    `[kafka]`. Likewise, `embedder` names an embedding service in place of `engine` and `model`,
    `judge` configures the judge's service, `schedule` when batch runs and reviews are due, `serve`
    the server and its tokens, and `dedup` overrides the preset `namespaced` when it is put in
    force.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_ignore_empty=True,
        toml_file=SETTINGS_FILE,
        extra="forbid",
        frozen=True,
    )

    store: Annotated[HomePath, BeforeValidator(_no_blank)] = DEFAULT_STORE
    policy: str | None = None
    engine: Literal["onnx", "sentence-transformers", "none"] | None = None
    model: str | None = None
    actor: str | None = None
    instance: str | None = None
    standby: bool = False
    data: HomePath | None = None
    web_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    letters_per_minute: Annotated[int, Field(ge=0)] | None = None
    kafka: Connection | None = None
    embedder: EmbedderSettings | None = None
    judge: JudgeSettings = JudgeSettings()
    dedup: DedupSettings = DedupSettings()
    schedule: Schedule = Schedule()
    serve: ServeSettings = ServeSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The command line takes precedence over the environment, and that over the file."""
        return init_settings, env_settings, _SettingsFile(settings_cls)

    def over(self, **given: Any) -> Self:
        """These settings, overridden by a command's own options."""
        return self.model_copy(update={k: v for k, v in given.items() if v is not None})

    @property
    def judge_of_server(self) -> JudgeSettings | None:
        """The judge that a server asks on its own: `[judge]`, if any of its keys is set.

        A vendor's API key in the environment is not consent to send memories there.
        """
        return self.judge if "judge" in self.model_fields_set else None

    def policy_of_new_store(self, named: str | None = None) -> Policy:
        """The policy `named`, else that of the settings, else the configured model's preset."""
        return self.dedup.load(named or self.policy or default_policy(self._recorded_model()))

    def _recorded_model(self) -> str | None:
        """The name under which vectors of the configured model are recorded."""
        if self.embedder is not None:
            return self.embedder.model
        if self.model is None:
            return None
        from palimpsest.streams.embedder.source import model_name

        return model_name(self.model)

    def opening(self) -> dict[str, Any]:
        """The settings for opening a store, as keyword arguments."""
        options = self.model_dump(include={"engine", "model"}, exclude_none=True)
        if self.embedder is not None:
            options["embedder"] = self.embedder
        return (
            options if self.policy is None else options | {"policy": self.dedup.load(self.policy)}
        )


_ALIKE = 0.8
"""At least this similar to a setting's variable, another is taken for a misspelling of it."""
_OF_SERVICE = "_SERVICE_HOST"
"""The end of a variable that Kubernetes sets in every pod for each service beside it."""


def _tables() -> dict[str, type[BaseModel]]:
    """The settings that are tables."""
    return {
        name: table
        for name, field in Settings.model_fields.items()
        for table in (field.annotation, *get_args(field.annotation))
        if isinstance(table, type) and issubclass(table, BaseModel)
    }


def _misspelt() -> Iterator[str]:
    """For each variable that almost has the name of a setting, what it should be.

    Others belong to other programs. A wrong key of a table is found when the table is read.
    """
    tables = _tables()
    known = [name for name in Settings.model_fields if name not in tables]
    known += [f"{name}_{key}" for name, table in tables.items() for key in table.model_fields]
    services = [one.removesuffix(_OF_SERVICE) for one in os.environ if one.endswith(_OF_SERVICE)]
    of_services = tuple(f"{one}_{of}" for one in services for of in ("SERVICE", "PORT"))
    for variable, value in os.environ.items():
        name = variable.lower().removeprefix(PREFIX.lower())
        if not (value and variable.upper().startswith(PREFIX)) or variable.startswith(of_services):
            continue
        if name in Settings.model_fields or name.partition("_")[0] in tables:
            continue
        for meant in get_close_matches(name, known, 1, _ALIKE):
            yield f"there is no {variable}: the setting is {PREFIX}{meant.upper()}"


def _not_json() -> Iterator[str]:
    """The variables that should be JSON and are not: whole tables, and lists in them."""
    for name, table in _tables().items():
        lists = [
            key for key, one in table.model_fields.items() if get_origin(one.annotation) is tuple
        ]
        for variable in (name, *(f"{name}_{key}" for key in lists)):
            value = os.environ.get(f"{PREFIX}{variable}".upper())
            try:
                orjson.loads(value or "null")
            except orjson.JSONDecodeError:
                yield f"{PREFIX}{variable}".upper()


def read_settings(**given: Any) -> Settings:
    """The settings; those of the command line take precedence. UsageError if one is wrong."""
    file = Path(SETTINGS_FILE)
    if os.path.lexists(file) and not file.is_file():
        what = "a folder" if file.is_dir() else "not a file, or a broken link"
        raise UsageError(f"{SETTINGS_FILE} is {what}: remove it, or put the settings there")
    if misspelt := "; ".join(_misspelt()):
        raise UsageError(f"settings: {misspelt}")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageError(
            f"settings, by an option, PALIMPSEST_* or {SETTINGS_FILE}: {wrong_keys(error)}"
        ) from None
    except SettingsError:
        raise UsageError(
            f"settings: {', '.join(_not_json()) or 'a PALIMPSEST_*'} should be JSON"
        ) from None
