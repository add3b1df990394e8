"""What reaches a cluster is checked, passed on to both clients, and never shown."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth
from pydantic import ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.cluster.connection import Connection
from tests.tables import each

PASSWORD = "correct horse"
SASL: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "ada",
    "sasl_password": PASSWORD,
}


def connection(**said: Any) -> Connection:
    return Connection.model_validate({"bootstrap": "kafka-1:9092,kafka-2:9093"} | said)


def through_faust(one: Connection) -> dict[str, Any]:
    told = one.faust_arguments()
    return dict(credentials_to_aiokafka_auth(told.get("broker_credentials")))


def test_without_more_it_is_plain() -> None:
    assert connection().arguments() == {
        "bootstrap_servers": ["kafka-1:9092", "kafka-2:9093"],
        "security_protocol": "PLAINTEXT",
    }
    assert connection().faust_arguments() == {
        "broker": ["aiokafka://kafka-1:9092", "aiokafka://kafka-2:9093"]
    }


def test_sasl_reaches_both_clients() -> None:
    expected = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ada",
        "sasl_plain_password": PASSWORD,
    }
    one = connection(**SASL)
    assert one.arguments().items() >= expected.items()
    assert through_faust(one).items() >= expected.items()


@pytest.mark.parametrize("more", [{}, SASL], ids=["SSL", "SASL_SSL"])
def test_tls_checks_the_brokers_certificate_for_both_clients(more: dict[str, Any]) -> None:
    protocol = "SASL_SSL" if more else "SSL"
    one = connection(**(more | {"security_protocol": protocol}))
    for told in (one.arguments(), through_faust(one)):
        assert told["security_protocol"] == protocol
        assert told["ssl_context"].verify_mode == ssl.CERT_REQUIRED
        assert told["ssl_context"].check_hostname


def test_a_tls_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    one = connection(security_protocol="SSL", ssl_cafile=str(tmp_path / "ca.pem"))
    with pytest.raises(UsageError, match=r"ca\.pem"):
        one.arguments()


def test_a_tls_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    one = connection(security_protocol="SSL", ssl_cafile=str(tmp_path / "ca.pem"))
    with pytest.raises(UsageError, match=r"ca\.pem"):
        one.arguments()


@each(
    "said",
    [
        {"security_protocol": "SASL_SSL"},
        SASL | {"sasl_password": None},
        SASL | {"security_protocol": "SSL"},
        SASL | {"sasl_mechanism": "GSSAPI"},
        {"ssl_cafile": "ca.pem"},
        {"ssl_certfile": "client.pem"},
        {"security_protocol": "SSL", "ssl_keyfile": "key.pem"},
        {"security_protocol": "SSL", "ssl_key_password": PASSWORD},
        {"bootstrap": "kafka"},
        {"bootstrap": "kafka:9092, other:9092"},
        {"bootstrap": ""},
        {"bootstrap": "kafka:65536"},
        {"bootstrap": "kafka:0"},
        {"prefix": "a/b"},
        {"unknown": "1"},
    ],
)
def test_what_does_not_fit_together_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        connection(**said)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [SASL, {"security_protocol": "SSL", "ssl_certfile": "a", "ssl_key_password": PASSWORD}],
    ids=["SASL", "SSL"],
)
def test_the_password_is_never_shown(said: dict[str, Any]) -> None:
    one = connection(**said)
    for shown in (repr(one), str(one), one.model_dump_json(), str(one.model_dump())):
        assert PASSWORD not in shown
