"""mem0's `MemoryClient` and a server of ours, each in its own environment (`make test-mem0`)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.server.endpoint import Endpoint, read_endpoint
from palimpsest.server.starting import ready_server
from tests.docs.pages import ROOT, blocks
from tests.palimpsest.server.child import PROGRAM

pytestmark = pytest.mark.mem0

PYTHON = ROOT / ".venv-mem0" / "bin" / "python"
PROMISE = re.compile(r"# → (.+)$", re.MULTILINE)


@pytest.fixture(name="server")
def serving(tmp_path: Path) -> Iterator[Endpoint]:
    """A server of the store `memories` in the test's folder, in its own process."""
    store = tmp_path / "memories"
    command = [*PROGRAM, "--store", str(store), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it says so when it is ready
            found = ready_server(store)
            assert found is not None
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert read_endpoint(store) is None


def ran(folder: Path, *words: str) -> str:
    """The output of a program in mem0's environment, with telemetry off."""
    environment = {**os.environ, "MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / ".mem0")}
    done = subprocess.run(
        [str(PYTHON), *words],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_call_of_the_client(server: Endpoint, tmp_path: Path) -> None:
    script = Path(__file__).with_name("client.py")
    assert server.agent is not None
    assert server.operator is not None
    ran(tmp_path, str(script), f"{server.url}/mem0", server.agent, server.operator)


def test_the_page_runs(server: Endpoint, tmp_path: Path) -> None:
    program = "\n".join(block.text for block in blocks("docs/mem0.md", "py"))
    promised = PROMISE.findall(program)
    assert promised
    assert ran(tmp_path, "-c", program).splitlines() == promised
