"""A folder of a clone, imported by its own name, is the same module as in the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import long_but

ROOT = Path(__file__).parents[2]

IMPORTS = {
    "contracts": "from contracts.requests import SettleRequest as one",
    "projections": "from projections.recall.hits import hits as one",
    "streams": "from streams.policies import load_policy as one",
}


@pytest.mark.parametrize("first", long_but("", of=["", "import palimpsest; "]))
@pytest.mark.parametrize("folder", IMPORTS)
def test_a_folder_is_not_copied(folder: str, first: str) -> None:
    again = IMPORTS[folder].replace("from ", "from palimpsest.").replace("one", "other")
    program = f"{first}{IMPORTS[folder]}; {again}; assert one is other"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    "module",
    long_but("contracts.urn", of=["contracts.urn", "projections.recall.hits", "streams.core.text"]),
)
def test_a_module_is_run_by_its_own_name(module: str) -> None:
    subprocess.run([sys.executable, "-m", module], cwd=ROOT, check=True)
    program = f"import runpy; print(runpy.run_module({module!r}, alter_sys=True)['__file__'])"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert Path(ran.stdout.strip()).samefile(ROOT / f"{module.replace('.', '/')}.py")


@pytest.mark.parametrize("folder", IMPORTS)
def test_a_folder_itself_is_not_run(folder: str) -> None:
    program = [sys.executable, "-m", folder]
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"No module named {folder}.__main__" in ran.stderr


def test_with_another_infra_a_folder_is_refused_and_not_copied(tmp_path: Path) -> None:
    (tmp_path / "infra.py").touch()
    program = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import contracts"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "No module named 'infra.folders'" in ran.stderr


def test_a_module_that_is_missing_is_named() -> None:
    program = [sys.executable, "-c", "import contracts.nothing"]
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "No module named 'contracts.nothing'" in ran.stderr
