"""The tests' own way of starting processes: a status is that of the process that was waited for."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.reliability.processes import Forge

SAME_ID = """
input(); print("started 7", flush=True); print("ended 7 0", flush=True)
input(); print("started 7", flush=True); print("ended 7 -9", flush=True)
"""


def test_a_process_with_the_id_of_an_earlier_one_has_its_own_status(tmp_path: Path) -> None:
    forge = Forge(tmp_path, (sys.executable, "-c", SAME_ID))
    assert forge.start(tmp_path, ["status"]).wait() == 0
    assert forge.start(tmp_path, ["status"]).wait() == -signal.SIGKILL
    forge.close()
