"""How to connect to a Kafka cluster: addresses, SASL and TLS, and the prefix of our topics.

TLS uses PEM files: the trusted CAs and our own certificate. Errors name the file that is wrong.
"""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, model_validator

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.home_path import HomePath


class PartingObject(ssl.SSLObject):
    """Closes TLS without waiting for the broker's close notification, which may never come.

    A notification that arrives together with other data goes unnoticed. The event loop then waits
    30 s for it, which happened in every second start of a worker. Nothing is lost by not waiting,
    because each request has its own answer.
    """

    def unwrap(self) -> None:
        """Send our close notification, without waiting for the broker's."""
        with suppress(ssl.SSLWantReadError):
            super().unwrap()


def tls_context(
    cafile: Path | None, certfile: Path | None, keyfile: Path | None, password: SecretStr | None
) -> ssl.SSLContext:
    """A TLS context that verifies brokers; with our own certificate, if any.

    Without `cafile` the system's CAs are trusted; without `keyfile` the key is in `certfile`.
    Raises UsageError, which names the setting of a file that cannot be used. Never prompts for a
    password on the terminal.
    """
    context = _verifying(cafile)
    context.sslobject_class = PartingObject
    if certfile is not None:
        _require_readable("ssl_certfile", certfile)
        _load_own_certificate(context, certfile, keyfile, password)
    return context


def _verifying(cafile: Path | None) -> ssl.SSLContext:
    if cafile is not None:
        _require_readable("ssl_cafile", cafile)
    try:
        return ssl.create_default_context(cafile=cafile)
    except ssl.SSLError:
        raise UsageError(
            f"ssl_cafile {cafile}: there is no certificate in PEM form in it"
        ) from None


def _load_own_certificate(
    context: ssl.SSLContext, certfile: Path, keyfile: Path | None, password: SecretStr | None
) -> None:
    if keyfile is not None:
        _require_readable("ssl_keyfile", keyfile)
    key = f"ssl_certfile {certfile}" if keyfile is None else f"ssl_keyfile {keyfile}"
    was_asked = False

    def key_password() -> str:
        nonlocal was_asked
        was_asked = True
        if password is None:
            raise UsageError(f"{key}: the key is encrypted: set ssl_key_password")
        return password.get_secret_value()

    try:
        context.load_cert_chain(certfile, keyfile, key_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise UsageError(f"{key}: the key does not belong to ssl_certfile {certfile}") from None
        if was_asked:
            raise UsageError(f"{key}: ssl_key_password does not open the key") from None
        files = f"ssl_certfile {certfile}" + ("" if keyfile is None else f" or {key}")
        raise UsageError(f"{files}: there is no certificate with its key in PEM form") from None


def _require_readable(setting: str, file: Path) -> None:
    try:
        file.open("rb").close()
    except OSError as error:
        raise UsageError(f"{setting} {file}: {error.strerror}") from None


ADDRESS = re.compile(r"[^\s,;/]+:([0-9]{1,5})")
PORTS = range(1, 2**16)
PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")


def _addresses(text: str) -> str:
    for address in text.split(","):
        found = ADDRESS.fullmatch(address)
        if found is None or int(found[1]) not in PORTS:
            raise ValueError("must be HOST:PORT (1 to 65535), or several separated by commas")
    return text


def _prefix(text: str) -> str:
    if not PREFIX.fullmatch(text):
        raise ValueError("must be letters, digits, dots, _ and -, 100 at most")
    return text


class Connection(BaseModel):
    """How to reach a cluster. `bootstrap` is `host:port`, several separated by commas.

    The prefix precedes the name of every topic, group and transactional id, so that several
    installations can share a cluster. `ssl_…` are PEM files; the password is that of the key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap: Annotated[str, AfterValidator(_addresses)]
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: HomePath | None = None
    ssl_certfile: HomePath | None = None
    ssl_keyfile: HomePath | None = None
    ssl_key_password: SecretStr | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        credentials = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if self._uses_sasl and None in credentials:
            raise ValueError("SASL needs sasl_mechanism, sasl_username and sasl_password")
        if not self._uses_sasl and credentials != (None, None, None):
            raise ValueError("sasl_… needs security_protocol SASL_PLAINTEXT or SASL_SSL")
        own = (self.ssl_certfile, self.ssl_keyfile, self.ssl_key_password)
        if not self._uses_tls and (self.ssl_cafile, *own) != (None,) * 4:
            raise ValueError("ssl_… needs security_protocol SSL or SASL_SSL")
        if self.ssl_certfile is None and own != (None, None, None):
            raise ValueError("ssl_keyfile and ssl_key_password need ssl_certfile")
        return self

    @property
    def _uses_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL_")

    @property
    def _uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for aiokafka's clients. Raises UsageError if a TLS file is unusable."""
        arguments: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap.split(","),
            "security_protocol": self.security_protocol,
        }
        if self._uses_tls:
            arguments["ssl_context"] = self._tls()
        if self.sasl_password is not None:
            arguments["sasl_mechanism"] = self.sasl_mechanism
            arguments["sasl_plain_username"] = self.sasl_username
            arguments["sasl_plain_password"] = self.sasl_password.get_secret_value()
        return arguments

    def faust_arguments(self) -> dict[str, Any]:
        """Like `arguments`, for a Faust app."""
        import faust

        arguments: dict[str, Any] = {
            "broker": [f"aiokafka://{address}" for address in self.bootstrap.split(",")]
        }
        tls = self._tls() if self._uses_tls else None
        if self.sasl_password is not None:
            arguments["broker_credentials"] = faust.SASLCredentials(
                username=self.sasl_username,
                password=self.sasl_password.get_secret_value(),
                mechanism=self.sasl_mechanism,
                ssl_context=tls,
            )
        elif tls is not None:
            arguments["broker_credentials"] = faust.SSLCredentials(tls)
        return arguments

    def _tls(self) -> ssl.SSLContext:
        return tls_context(
            self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, self.ssl_key_password
        )
