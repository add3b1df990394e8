"""The settings and tokens of `palimpsest serve` (docs/http.md)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import Strict, Timestamp, wrong_keys
from palimpsest.contracts.toml import parse_toml
from palimpsest.streams.home_path import HomePath

Role = Literal["agent", "reviewer", "operator"]
SHORTEST_SECRET = 16
PORT = 7077


def pattern(value: str) -> str:
    """Check that a value is a regular expression; ValueError if not."""
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        raise ValueError("is not a regular expression") from None
    return value


def _long(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value().strip()
    if len(secret) < SHORTEST_SECRET or not secret.isascii() or not secret.isprintable():
        raise ValueError(f"should be {SHORTEST_SECRET} or more characters of ASCII")
    return SecretStr(secret)


class Token(Strict):
    """A client's token. `owners` is a regular expression that must match an owner's whole id."""

    name: Name
    secret: Annotated[SecretStr, AfterValidator(_long)]
    owners: Annotated[str, AfterValidator(pattern)]
    role: Role = "agent"
    expires: Timestamp | None = None


def _listed(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Not `min_length`, which pydantic also reports for a list whose tokens are wrong."""
    if not tokens:
        raise ValueError("lists no token")
    return tokens


class _TokenFile(Strict):
    token: Annotated[tuple[Token, ...], AfterValidator(_listed)]


def read_tokens(file: Path) -> tuple[Token, ...]:
    """The tokens of a TOML file, each a table `[[token]]`; UsageError if it or one is wrong."""
    try:
        return _TokenFile.model_validate(parse_toml(file.read_bytes(), file)).token
    except OSError as error:
        raise UsageError(f"no tokens can be read from {file}: {error.strerror}") from None
    except ValidationError as error:
        raise UsageError(f"{file}: {wrong_keys(error)}") from None


class ServeSettings(BaseModel):
    """A server's address, the host names that it accepts, and its tokens.

    `tokens` are those of the environment (`PALIMPSEST_SERVE_TOKENS`, a list in JSON); those of the
    file are added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = PORT
    allowed_hosts: tuple[str, ...] = ()
    tokens_file: HomePath | None = None
    tokens: tuple[Token, ...] = ()

    def all_tokens(self) -> tuple[Token, ...]:
        """All tokens, of the file and the environment.

        UsageError if the file cannot be used (`read_tokens`), or two share a name or a secret.
        """
        found = (*self.tokens, *(read_tokens(self.tokens_file) if self.tokens_file else ()))
        names: dict[str, str] = {}
        for token in found:
            if token.name in names.values():
                raise UsageError("two tokens have the same name")
            other = names.setdefault(token.secret.get_secret_value(), token.name)
            if other != token.name:
                raise UsageError(f"the tokens {other!r} and {token.name!r} have the same secret")
        return found


class TokenWatch:
    """Notices that the file of tokens has changed."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._seen = self._stamp()

    def changed(self) -> tuple[Token, ...] | None:
        """All tokens if the file has changed since the last call, else None.

        UsageError, once for each change, if the file can no longer be used.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self._seen = stamp
        return self._settings.all_tokens()

    def _stamp(self) -> tuple[int, int, int] | None:
        file = self._settings.tokens_file
        try:
            status = file.stat() if file else None
        except OSError:
            return None
        return status and (status.st_ino, status.st_size, status.st_mtime_ns)
