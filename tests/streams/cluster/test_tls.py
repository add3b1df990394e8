"""A file of TLS that cannot be used is named with what is wrong; goodbyes are not waited for."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from asyncio import AbstractEventLoop
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest
import uvloop
from pydantic import SecretStr

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.cluster.connection import tls_context
from tests.cluster.secured import certificate
from tests.cluster.shared import no_cluster

PASSWORD = "open sesame"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `plain`, `other`, and `locked`, whose key a password opens."""
    if shutil.which("openssl") is None:
        no_cluster("no openssl: there is nothing to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")
    certificate(folder, "plain")
    certificate(folder, "other")
    certificate(folder, "locked", PASSWORD)
    both = ((folder / f"plain.{end}").read_text() for end in ("crt", "key"))
    (folder / "both.pem").write_text("".join(both))
    (folder / "neither.pem").write_text("no certificate")
    return folder


@pytest.mark.parametrize(
    ("certfile", "keyfile", "password"),
    [
        ("plain.crt", "plain.key", None),
        ("plain.crt", "plain.key", "of no use"),
        ("both.pem", None, None),
        ("locked.crt", "locked.key", PASSWORD),
    ],
)
def test_a_certificate_of_ones_own(
    made: Path, certfile: str, keyfile: str | None, password: str | None
) -> None:
    key, secret = keyfile and made / keyfile, password and SecretStr(password)
    context = tls_context(made / "plain.crt", made / certfile, key or None, secret or None)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize(
    ("files", "password", "told"),
    [
        (("nowhere", None, None), None, "ssl_cafile .*nowhere: No such file"),
        ((".", None, None), None, "ssl_cafile .*: Is a directory"),
        (("neither.pem", None, None), None, "ssl_cafile .*neither.pem: there is no certificate"),
        ((None, "nowhere", None), None, "ssl_certfile .*nowhere: No such file"),
        ((None, "plain.crt", "nowhere"), None, "ssl_keyfile .*nowhere: No such file"),
        ((None, "plain.crt", None), None, "ssl_certfile .*plain.crt: there is no .* its key"),
        ((None, "neither.pem", "plain.key"), None, "ssl_certfile .*neither.pem or ssl_keyfile"),
        ((None, "plain.crt", "neither.pem"), None, "or ssl_keyfile .*neither.pem: there is no"),
        ((None, "plain.crt", "other.key"), None, "ssl_keyfile .*other.key: .* not belong to ssl_c"),
        ((None, "locked.crt", "locked.key"), None, "ssl_keyfile .*: .* set ssl_key_password"),
        ((None, "locked.crt", "locked.key"), "sesame", "ssl_key_password does not open the key"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_used_is_named(
    made: Path, files: tuple[str | None, ...], password: str | None, told: str
) -> None:
    ca, own, key = (None if name is None else made / name for name in files)
    secret = None if password is None else SecretStr(password)
    with pytest.raises(UsageError, match=told) as error:
        tls_context(ca, own, key, secret)
    assert "sesame" not in str(error.value)


def listening(made: Path, told: Event) -> tuple[Thread, int]:
    """A server that lets one client in, and answers nothing until it is told."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / "both.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(15)

    def serve() -> None:
        with listener, context.wrap_socket(listener.accept()[0], server_side=True):
            told.wait()

    thread = Thread(target=serve)
    thread.start()
    return thread, listener.getsockname()[1]


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_nobody_waits_for_a_broker_to_say_goodbye(
    made: Path, loop: Callable[[], AbstractEventLoop]
) -> None:
    told = Event()
    server, port = listening(made, told)

    async def come_and_go() -> bool:
        context = tls_context(made / "plain.crt", None, None, None)
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.close()
        gone = asyncio.ensure_future(writer.wait_closed())
        before, _ = await asyncio.wait({gone}, timeout=15)  # event loops would wait for 30 s
        told.set()
        await gone
        return bool(before)

    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            assert runner.run(come_and_go())
    finally:
        told.set()
        server.join()
