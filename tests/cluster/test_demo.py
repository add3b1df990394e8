"""`make cluster-demo` on the first rows of its stream tells its story and leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = 600
"""Of the demo's stream: the first join that can be taken out is among them."""


@pytest.mark.timeout(300)
def test_the_cluster_demo_equals_the_embedded_run(startable: None, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.cluster_demo", "--rows", str(ROWS)],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    summary = ran.stdout[ran.stdout.index("Done in") :]
    assert f"{ROWS} candidates were published" in summary
    killed = re.search(r"killed with SIGKILL after (\d+) of them", summary)
    assert killed is not None
    assert ROWS // 3 <= int(killed[1]) <= ROWS
    assert [*tmp_path.iterdir()] == []
