"""What the shared broker has beside plain connections: TLS with passwords, and with certificates.

Its certificates are made for each broker, and are self-signed.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.broker import Broker, free_port

USER = "ada"
GUEST = "grace"
"""May do nothing but what a test lets her; by PLAIN alone. All others may do everything."""
PASSWORD = "correct-horse"
KEY_PASSWORD = "battery-staple"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ROUNDS = 4096
"""The fewest that brokers take."""
PATIENCE_SECONDS = 30
MODULES = "org.apache.kafka.common.security"
LISTENERS = f"""
listener.security.protocol.map=\\
    PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:{USER};User:CN=client
sasl.enabled.mechanisms=PLAIN,{",".join(SCRAM)}
listener.name.sasl_ssl.plain.sasl.jaas.config={MODULES}.plain.PlainLoginModule required \\
    user_{USER}="{PASSWORD}" \\
    user_{GUEST}="{PASSWORD}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={MODULES}.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={MODULES}.scram.ScramLoginModule required;
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={{data}}/../server.pem
ssl.truststore.type=PEM
ssl.truststore.location={{data}}/../client.crt
"""
PATIENT = "broker.session.timeout.ms=60000\n"
"""Nobody kills the broker that tests share. On a busy machine it may stall for two seconds, after
which its controller would fence it."""
KEYS = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2".split()


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where a broker listens, and the folder of its certificates.

    `server.crt` vouches for the broker. `client.crt` with `client.key`, which KEY_PASSWORD opens,
    is who it lets in; `stranger.crt` with `stranger.key` is not.
    """

    bootstrap: str
    sasl_ssl: str
    ssl: str
    folder: str


def broker_with_listeners(folder: Path) -> tuple[Broker, dict[str, str]]:
    """A broker to be started, and its `Listeners` as data; without openssl the plain one alone."""
    if shutil.which("openssl") is None:
        broker = Broker(folder, more_settings=PATIENT)
        return broker, {"bootstrap": broker.bootstrap}
    ports = [free_port()]
    while len(ports) < 4:
        ports.append(free_port(*ports))
    plain, sasl_ssl, ssl, controller = (f"127.0.0.1:{port}" for port in ports)
    told = f"PLAINTEXT://{plain},SASL_SSL://{sasl_ssl},SSL://{ssl}"
    settings = (
        f"listeners={told},CONTROLLER://{controller}\nadvertised.listeners={told}\n"
        f"controller.quorum.voters=1@{controller}\n{LISTENERS}{PATIENT}"
    )
    folder.mkdir(exist_ok=True)
    _make_certificates(folder)
    broker = Broker(folder, ports[0], more_settings=settings)
    return broker, asdict(Listeners(broker.bootstrap, sasl_ssl, ssl, str(folder)))


def _make_certificates(folder: Path) -> None:
    certificate(folder, "server")
    certificate(folder, "client", KEY_PASSWORD)
    certificate(folder, "stranger")
    both = ((folder / f"server.{end}").read_text() for end in ("key", "crt"))
    (folder / "server.pem").write_text("".join(both))


def certificate(folder: Path, name: str, password: str | None = None) -> None:
    """Make NAME.crt for the loopback, which vouches for itself, with NAME.key; needs openssl."""
    encrypted = ["-nodes"] if password is None else ["-passout", f"pass:{password}"]
    named = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
    subprocess.run(["openssl", *KEYS, *encrypted, *named, *files], check=True, capture_output=True)


def let_in_by_scram(bootstrap: str) -> None:
    """Tell the broker the user's password for SCRAM; it keeps only what is derived from it."""
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        AdminClient,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    client = AdminClient({"bootstrap.servers": bootstrap})
    for name in SCRAM:
        kind = ScramCredentialInfo(ScramMechanism[name.replace("-", "_")], ROUNDS)
        asked = UserScramCredentialUpsertion(USER, kind, PASSWORD.encode())
        client.alter_user_scram_credentials([asked])[USER].result(PATIENCE_SECONDS)
