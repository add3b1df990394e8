"""A folder of a clone, imported by its own name, is the same module as in the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

IMPORTS = {
    "contracts": "from contracts.requests import SettleRequest as one",
    "projections": "from projections.recall.hits import hits as one",
    "streams": "from streams.policies import load_policy as one",
}


@pytest.mark.parametrize("first", ["", "import palimpsest; "])
@pytest.mark.parametrize("folder", IMPORTS)
def test_a_folder_is_not_copied(folder: str, first: str) -> None:
    again = IMPORTS[folder].replace("from ", "from palimpsest.").replace("one", "other")
    program = f"{first}{IMPORTS[folder]}; {again}; assert one is other"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_module_that_is_missing_is_named() -> None:
    program = [sys.executable, "-c", "import contracts.nothing"]
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "No module named 'palimpsest.contracts.nothing'" in ran.stderr
