"""The settings that docs/judge.md shows are settings."""

from __future__ import annotations

import re
import tomllib

from palimpsest.streams.judge.settings import JudgeSettings
from tests.docs.pages import text_of

_TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_setting_of_the_judge_is_shown_and_can_be_set() -> None:
    shown = [tomllib.loads(block)["judge"] for block in _TOML.findall(text_of("docs/judge.md"))]
    settings = [JudgeSettings.model_validate(table).model_fields_set for table in shown]
    assert set().union(*settings) == set(JudgeSettings.model_fields)
