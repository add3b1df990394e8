"""`make cluster-demo` on the first rows of its stream tells its story and leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.cluster_demo import KINDS, PLAIN_CASES

ROOT = Path(__file__).parents[2]
ROWS = 193
"""Of the demo's stream: with the plain cases before it two hundred."""


@pytest.mark.long
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
    published = ROWS + len(PLAIN_CASES)
    assert f"{published} candidates were published" in summary
    [counted] = re.findall(r"^Decisions: (.+)\.$", summary, re.MULTILINE)
    assert set(KINDS) == {"hash_exact", "auto_reject", "llm_keep", "superseded"}
    assert set(KINDS) <= {one.split()[1] for one in counted.split(", ")}
    killed = re.search(r"killed with SIGKILL after (\d+) of them", summary)
    assert killed is not None
    assert published // 3 <= int(killed[1]) <= published
    assert [*tmp_path.iterdir()] == []
