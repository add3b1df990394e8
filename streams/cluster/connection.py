"""What reaches a Kafka cluster: addresses, SASL and TLS, and the prefix of our topics there."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, model_validator

from palimpsest.streams.cluster.tls import tls_context

ADDRESSES = re.compile(r"[^\s,;/]+:\d+(,[^\s,;/]+:\d+)*")
PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")


def _addresses(text: str) -> str:
    if not ADDRESSES.fullmatch(text):
        raise ValueError("must be HOST:PORT, or several with commas between")
    return text


def _prefix(text: str) -> str:
    if not PREFIX.fullmatch(text):
        raise ValueError("must be letters, digits, dots, _ and -, 100 at most")
    return text


class Connection(BaseModel):
    """How to reach a cluster. `bootstrap` is `host:port`, several with commas between.

    The prefix stands before the name of every topic, group and transactional id, so that several
    installations can share a cluster. `ssl_…` are PEM files; the password is that of the key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap: Annotated[str, AfterValidator(_addresses)]
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
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
        """The keyword arguments that each of aiokafka's clients takes.

        UsageError when a TLS file cannot be used.
        """
        told: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap.split(","),
            "security_protocol": self.security_protocol,
        }
        if self._uses_tls:
            told["ssl_context"] = self._tls()
        if self.sasl_password is not None:
            told["sasl_mechanism"] = self.sasl_mechanism
            told["sasl_plain_username"] = self.sasl_username
            told["sasl_plain_password"] = self.sasl_password.get_secret_value()
        return told

    def faust_arguments(self) -> dict[str, Any]:
        """The same as keyword arguments of a Faust app."""
        import faust

        told: dict[str, Any] = {
            "broker": [f"aiokafka://{one}" for one in self.bootstrap.split(",")]
        }
        tls = self._tls() if self._uses_tls else None
        if self.sasl_password is not None:
            told["broker_credentials"] = faust.SASLCredentials(
                username=self.sasl_username,
                password=self.sasl_password.get_secret_value(),
                mechanism=self.sasl_mechanism,
                ssl_context=tls,
            )
        elif tls is not None:
            told["broker_credentials"] = faust.SSLCredentials(tls)
        return told

    def _tls(self) -> ssl.SSLContext:
        return tls_context(
            self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, self.ssl_key_password
        )
