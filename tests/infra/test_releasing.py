"""The release workflow runs what is there, and a tag that is not the version builds nothing."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github" / "workflows" / "release.yml").read_text()
)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_workflow_runs_targets_that_are_there() -> None:
    steps = [step.get("run", "") for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    wanted = [found[1] for step in steps if (found := re.match(r"make ([\w-]+)", step))]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert wanted == ["dist", "test-wheel"]
    assert {*wanted} <= {*targets}


def test_every_target_with_a_sentence_is_listed() -> None:
    described = re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"^  make (\S+)", told.stdout, re.MULTILINE) == described


def test_only_the_publishing_job_may_ask_for_an_identity() -> None:
    assert WORKFLOW["permissions"] == {}
    asking = {name for name, job in WORKFLOW["jobs"].items() if "id-token" in job["permissions"]}
    assert asking == {"publish"}
    assert WORKFLOW["jobs"]["publish"]["needs"] == "build"


@pytest.mark.parametrize(
    ("tag", "status"), [(f"v{VERSION}", 0), (VERSION, 2), (f"v{VERSION}.1", 2)]
)
def test_a_tag_names_the_version(tag: str, status: int) -> None:
    first = ["make", "--silent", "check-tag", f"TAG={tag}"]
    done = subprocess.run(first, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr


def test_the_clients_notice_credits_only_files_that_the_client_has() -> None:
    named = re.findall(r"\S+/\S+\.\w+", (ROOT / "client" / "NOTICE").read_text())
    assert [file for file in named if not (ROOT / "client" / file).exists()] == []
