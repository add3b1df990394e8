"""TLS from PEM files: whom we believe, and who we are. A file that is wrong is told by name."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from palimpsest.contracts.errors import UsageError


class PartingObject(ssl.SSLObject):
    """Says that it goes, and waits for no answer: a broker gives none for as long as it likes.

    It does not see a goodbye that comes in one piece with a request. Event loops wait 30 s for it,
    and did so in every second start of a worker. Requests bring their own answers: none is lost.
    """

    def unwrap(self) -> None:
        """Send what ends the connection."""
        with suppress(ssl.SSLWantReadError):
            super().unwrap()


def tls_context(
    cafile: Path | None, certfile: Path | None, keyfile: Path | None, password: SecretStr | None
) -> ssl.SSLContext:
    """What checks a broker's certificate and its name, and shows our own where there is one.

    Without `cafile` the system's authorities count; without `keyfile` the key is in `certfile`.
    UsageError names the setting whose file cannot be used, and never asks at a terminal.
    """
    context = _believing(cafile)
    context.sslobject_class = PartingObject
    if certfile is not None:
        _readable("ssl_certfile", certfile)
        _show(context, certfile, keyfile, password)
    return context


def _believing(cafile: Path | None) -> ssl.SSLContext:
    if cafile is not None:
        _readable("ssl_cafile", cafile)
    try:
        return ssl.create_default_context(cafile=cafile)
    except ssl.SSLError:
        raise UsageError(f"ssl_cafile {cafile}: there is no certificate in PEM in it") from None


def _show(
    context: ssl.SSLContext, certfile: Path, keyfile: Path | None, password: SecretStr | None
) -> None:
    if keyfile is not None:
        _readable("ssl_keyfile", keyfile)
    key = f"ssl_certfile {certfile}" if keyfile is None else f"ssl_keyfile {keyfile}"
    was_asked = False

    def told() -> str:
        nonlocal was_asked
        was_asked = True
        if password is None:
            raise UsageError(f"{key}: the key is encrypted: set ssl_key_password")
        return password.get_secret_value()

    try:
        context.load_cert_chain(certfile, keyfile, told)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise UsageError(f"{key}: the key is not that of ssl_certfile {certfile}") from None
        if was_asked:
            raise UsageError(f"{key}: ssl_key_password does not open the key") from None
        files = f"ssl_certfile {certfile}" + ("" if keyfile is None else f" or {key}")
        raise UsageError(f"{files}: there is no certificate with its key in PEM in it") from None


def _readable(setting: str, file: Path) -> None:
    try:
        file.open("rb").close()
    except OSError as error:
        raise UsageError(f"{setting} {file}: {error.strerror}") from None
