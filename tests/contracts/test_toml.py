"""What is wrong with a TOML file is told with its line, at every door that reads one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.settings.serve import read_tokens
from palimpsest.settings.settings import SETTINGS_FILE, read_settings
from palimpsest.streams.policies import load_policy
from palimpsest.streams.policies.languages import load_language

DOORS: dict[str, Callable[[Path], object]] = {
    "language": load_language,
    "policy": lambda file: load_policy(str(file)),
    "tokens": read_tokens,
    "settings": lambda _: read_settings(),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"\n=", "is not TOML: Invalid statement (at line 2, column 1)"),
        ("\ufeff\nword = 'één'".encode("latin-1", "replace"), "is not UTF-8 text (at line 2)"),
        (b"a = " + b"9" * 5_000, "is not TOML: a number has thousands of digits"),
        (b"a = " + b"[" * 5_000 + b"]" * 5_000, "is not TOML: lists or tables are nested too"),
    ],
    ids=["statement", "encoding", "number", "depth"],
)
def test_a_file_that_is_not_toml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str, written: bytes, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / SETTINGS_FILE
    file.write_bytes(written)
    with pytest.raises(UsageError) as error:
        DOORS[door](file)
    assert told in str(error.value)
    assert SETTINGS_FILE in str(error.value)
