"""Brokers that want TLS, and a password or a certificate, are reached by settings alone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import UnsupportedSaslMechanismError

from infra.broker import free_port
from palimpsest.api import store
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import BrokersAwayError, meaning, read_metadata
from tests.cluster.cluster import eventually
from tests.cluster.secured import KEY_PASSWORD, PASSWORD, SCRAM, USER, Listeners
from tests.cluster.shell import Shell, rows
from tests.long import long_but
from tests.reliability.processes import Child, Forge
from tests.stub_engine import load_stub

CERTIFICATE = "a certificate of one's own"
WAYS = ["PLAIN", *SCRAM, CERTIFICATE]
SECRETS = {"sasl_password", "ssl_key_password"}


def settings_of(secured: Listeners, way: str) -> dict[str, str]:
    """The keys of `[kafka]` that a way in needs."""
    folder = Path(secured.folder)
    trusted = {"ssl_cafile": str(folder / "server.crt")}
    if way == CERTIFICATE:
        return trusted | {
            "bootstrap": secured.ssl,
            "security_protocol": "SSL",
            "ssl_certfile": str(folder / "client.crt"),
            "ssl_keyfile": str(folder / "client.key"),
            "ssl_key_password": KEY_PASSWORD,
        }
    return trusted | {
        "bootstrap": secured.sasl_ssl,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": way,
        "sasl_username": USER,
        "sasl_password": PASSWORD,
    }


def is_let_in(settings: Mapping[str, str]) -> bool:
    try:
        return asyncio.run(read_metadata(Connection.model_validate(settings), [])).brokers == 1
    except TransientError:
        return False


class Person:
    """Has settings in palimpsest.toml, and secrets in the environment; types no address."""

    def __init__(self, folder: Path, forge: Forge, settings: Mapping[str, str]) -> None:
        self.shell = Shell(folder, Connection.model_validate(settings), forge)
        self._environment = {f"PALIMPSEST_KAFKA_{k.upper()}": v for k, v in settings.items()}

    def types(self, *words: str, stdin: bytes = b"") -> Any:
        return self.shell.asked(*words, stdin=stdin, cluster=False)

    def starts(self, *words: str) -> Child:
        """A process that has all its settings from the environment."""
        return self.shell.start(*words, **self._environment)


@pytest.fixture
def person(
    secured: Listeners,
    tmp_path: Path,
    prefix: str,
    forge: Forge,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Person]:
    settings = settings_of(secured, request.param) | {"prefix": prefix}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "load_engine", load_stub)
    lines = [f'{key} = "{value}"\n' for key, value in settings.items() if key not in SECRETS]
    Path("palimpsest.toml").write_text(f"[kafka]\n{''.join(lines)}")
    for secret in SECRETS & settings.keys():
        monkeypatch.setenv(f"PALIMPSEST_KAFKA_{secret.upper()}", settings[secret])
    eventually(lambda: is_let_in(settings), "the broker knows the user")
    typing = Person(tmp_path, forge, settings)
    yield typing
    typing.shell.close()


@pytest.mark.parametrize(
    "person",
    long_but("SCRAM-SHA-512", CERTIFICATE, of=["PLAIN", "SCRAM-SHA-512", CERTIFICATE]),
    indirect=True,
)
def test_settings_are_enough(person: Person) -> None:
    assert person.types("topics", "create", "--partitions", "1")["fine"]
    worker = person.starts("worker")
    project = person.starts("project")
    assert person.types("ingest", "-", stdin=rows("Ada sings.", "Ada sings."))["published"] == 2
    assert person.shell.until(2)["decisions"]["hash_exact"] == 1
    [found] = person.types("recall", "ada", "Ada sings.")
    assert found["face"] == "Ada sings."
    for child in (worker, project):
        child.kill(signal.SIGTERM)
        assert child.wait() == 0
        said = child.printed(stream=2)
        assert PASSWORD not in said
        assert KEY_PASSWORD not in said


@pytest.mark.parametrize("way", WAYS)
def test_each_way_lets_in(secured: Listeners, way: str) -> None:
    eventually(lambda: is_let_in(settings_of(secured, way)), "let in")


def refused(secured: Listeners, way: str, **wrong: str | None) -> str:
    settings = settings_of(secured, way) | wrong
    told = {key: value for key, value in settings.items() if value is not None}
    with pytest.raises(TransientError, match="no Kafka broker lets us in at ") as error:
        asyncio.run(read_metadata(Connection.model_validate(told), []))
    assert PASSWORD not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
def test_a_wrong_password_is_reported(secured: Listeners, mechanism: str) -> None:
    said = refused(secured, mechanism, sasl_password="staple")
    assert f"check sasl_username (ada), sasl_password and sasl_mechanism ({mechanism})" in said
    assert "staple" not in said


def test_a_broker_that_is_not_there_hides_no_other(secured: Listeners) -> None:
    both = f"127.0.0.1:{free_port()},{secured.sasl_ssl}"
    assert "sasl_password" in refused(secured, "PLAIN", sasl_password="x", bootstrap=both)


def test_a_missing_certificate_is_reported(secured: Listeners) -> None:
    without = dict.fromkeys(("ssl_certfile", "ssl_keyfile", "ssl_key_password"))
    assert "ssl_certfile" in refused(secured, CERTIFICATE, **without)


def test_a_strangers_certificate_is_reported(secured: Listeners) -> None:
    folder = Path(secured.folder)
    certfile, keyfile = (str(folder / f"stranger.{end}") for end in ("crt", "key"))
    said = refused(secured, CERTIFICATE, ssl_certfile=certfile, ssl_keyfile=keyfile)
    assert "ssl_certfile" in said


def test_a_broker_that_nobody_vouches_for_is_reported(secured: Listeners) -> None:
    other = str(Path(secured.folder) / "stranger.crt")
    assert "self-signed certificate" in (said := refused(secured, "PLAIN", ssl_cafile=other))
    assert "check ssl_cafile" in said


NO_SASL = dict.fromkeys(("sasl_mechanism", "sasl_username", "sasl_password"))
NO_TLS: dict[str, str | None] = {"ssl_cafile": None}


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        ("bootstrap", {}),
        ("bootstrap", {"security_protocol": "SASL_PLAINTEXT"} | NO_TLS),
        ("sasl_ssl", {"security_protocol": "PLAINTEXT"} | NO_SASL | NO_TLS),
        ("sasl_ssl", {"security_protocol": "SSL"} | NO_SASL),
    ],
    ids=["SASL_SSL at PLAINTEXT", "SASL_PLAINTEXT at it", "PLAINTEXT at SASL_SSL", "SSL at it"],
)
def test_a_listener_of_another_kind_is_reported(
    secured: Listeners, at: str, wrong: dict[str, str | None]
) -> None:
    said = refused(secured, "PLAIN", bootstrap=getattr(secured, at), **wrong)
    assert "check security_protocol (" in said


def test_a_broker_that_broke_off_may_also_be_on_its_way_out(secured: Listeners) -> None:
    plain = Connection(bootstrap=secured.sasl_ssl)
    with pytest.raises(
        BrokersAwayError, match=r"broke off .*: check security_protocol \(PLAINTEXT"
    ):
        asyncio.run(read_metadata(plain, []))


def test_a_mechanism_that_a_broker_lacks_is_reported(secured: Listeners) -> None:
    one = Connection.model_validate(settings_of(secured, "PLAIN"))
    found = meaning(UnsupportedSaslMechanismError(), one)
    assert found is not None
    assert found.certain
    assert found.reason == "it does not support PLAIN: check sasl_mechanism"


@pytest.mark.parametrize("person", ["SCRAM-SHA-512"], indirect=True)
@pytest.mark.parametrize("command", ["worker", "project", "topics"])
def test_commands_that_are_refused_end_with_one(
    person: Person, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_PASSWORD", "staple")
    words = ("topics", "check") if command == "topics" else (command,)
    error = person.shell.error(1, *words, cluster=False)
    assert "check sasl_username (ada), sasl_password" in error["detail"]
    assert "staple" not in error["detail"]
