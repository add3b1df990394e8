"""A broker that wants TLS and a password is reached by settings alone; a wrong one is told."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.broker import Broker
from streams.cluster.connection import Connection
from tests.cluster.test_commands import Shell, ended, rows

PASSWORD = "correct-horse"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECURED = f"""
listeners=SASL_SSL://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=SASL_SSL://127.0.0.1:{{port}}
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_SSL
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={MODULE} required username="broker" \\
    password="{PASSWORD}" user_broker="{PASSWORD}" user_ada="{PASSWORD}";
ssl.keystore.type=PEM
ssl.keystore.location={{data}}/../server.pem
ssl.truststore.type=PEM
ssl.truststore.location={{data}}/../ca.pem
"""


@pytest.fixture
def secured(tmp_path: Path, startable: None) -> Iterator[Broker]:
    """A broker with a certificate of its own making."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: there is nothing to make a certificate with")
    folder = tmp_path / "broker"
    folder.mkdir()
    make_certificate(folder)
    with Broker(folder, more_settings=SECURED) as broker:
        yield broker


def make_certificate(folder: Path) -> None:
    """A certificate for the loopback that vouches for itself, with its key."""
    key, certificate = folder / "key.pem", folder / "ca.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext".split()
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", *words, "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True
    )
    (folder / "server.pem").write_text(key.read_text() + certificate.read_text())


def test_settings_are_enough_to_reach_it(
    secured: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_KAFKA_BOOTSTRAP", secured.bootstrap)
    monkeypatch.setenv("PALIMPSEST_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_MECHANISM", "PLAIN")
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_USERNAME", "ada")
    monkeypatch.setenv("PALIMPSEST_KAFKA_SSL_CAFILE", str(secured.folder / "ca.pem"))
    shell = Shell(tmp_path, Connection(bootstrap=secured.bootstrap))
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_PASSWORD", "wrong")
    refused = shell.start("topics", "check")
    assert refused.wait(timeout=60) == 1
    assert "Invalid username or password" in shell.log("topics").read_text()
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_PASSWORD", PASSWORD)
    assert shell.asked("topics", "create", "--partitions", "2")["fine"]
    try:
        worker, project = shell.start("worker"), shell.start("project")
        shell.asked("ingest", "-", stdin=rows("Ada sings.", "Ada sings."))
        assert shell.until(2)["decisions"]["hash_exact"] == 1
        assert [ended(worker), ended(project)] == [0, 0]
    finally:
        shell.close()
    assert PASSWORD not in shell.log("worker").read_text()
