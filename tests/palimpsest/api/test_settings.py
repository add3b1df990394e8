"""Defaults of calls come from the same settings as at the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, StoreError, UsageError
from palimpsest.api import store, submissions
from palimpsest.mem0 import Memory
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy, preset_file
from tests.stub_engine import load_stub

ADA = {"owner_id": "ada", "text": "Ada lives in Paris."}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_a_path_it_is_the_store_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("palimpsest.toml").write_text('store = "of-file"\npolicy = "layered"\n')
    with Palimpsest.open() as memories:
        memories.submit(ADA)
        assert (memories.folder, memories.policy.name) == (Path("of-file").absolute(), "layered")
    monkeypatch.setenv("PALIMPSEST_STORE", "of-variable")
    with Palimpsest.open(policy="namespaced") as memories:
        memories.submit(ADA)
        assert (memories.folder, memories.policy.name) == (
            Path("of-variable").absolute(),
            "namespaced",
        )


def test_a_store_stays_where_it_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that changes its directory reads and writes nothing in the new one."""
    elsewhere = Path("elsewhere").absolute()
    elsewhere.mkdir()
    with Palimpsest.open("mine") as memories:
        monkeypatch.chdir(elsewhere)
        memories.submit(ADA)
        assert len(memories.recall("ada", "Paris")) == 1
    assert not [*elsewhere.iterdir()]


def test_a_file_of_settings_and_one_of_a_policy_may_begin_with_a_byte_order_mark() -> None:
    rules = Path("shown.toml")
    shown = preset_file("layered")
    assert shown is not None
    rules.write_text(shown.read_text(), encoding="utf-8-sig")
    words = 'store = "of-file"\npolicy = "shown.toml"\n'
    Path("palimpsest.toml").write_text(words, encoding="utf-8-sig")
    with Palimpsest.open() as memories:
        memories.submit(ADA)
        assert (memories.folder.name, memories.policy.name) == ("of-file", "layered")


def test_a_policy_that_was_copied_with_values_of_other_types_is_checked(tmp_path: Path) -> None:
    """`model_copy` takes any value; the core would fail on it at the first row of the category."""
    standard = load_policy("standard")
    rules = standard.model_copy(update={"expiry": {"chat": "7d"}})
    with Palimpsest.open(tmp_path / "store", policy=rules) as memories:
        [outcome] = memories.submit({**ADA, "category": "chat"})
        assert memories.get(str(outcome.memory_id))["expires_at"]
        wrong = standard.model_copy(update={"expiry": {"chat": "soon"}})
        with pytest.raises(UsageError, match="standard is not a policy: expiry"):
            memories.set_policy(wrong)


def test_without_a_path_it_is_the_model_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def load(model: str, engine: str, **_: Any) -> Any:
        asked.append((model, engine))
        return load_stub(model, engine)

    monkeypatch.setattr(store, "load_engine", load)
    monkeypatch.setenv("PALIMPSEST_MODEL", "its-model")
    monkeypatch.setenv("PALIMPSEST_ENGINE", "sentence-transformers")
    for path, model in ((None, None), (None, "given"), ("elsewhere", "given")):
        monkeypatch.setenv("PALIMPSEST_STORE", f"of-{model}")
        with Palimpsest.open(path, model=model) as memories:
            memories.submit({"owner_id": str(model), "text": "Ada lives in Paris."})
    assert asked == [
        ("its-model", "sentence-transformers"),
        ("given", "sentence-transformers"),
        ("given", "onnx"),
    ]


def test_a_cluster_of_the_settings_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    with Palimpsest.open() as memories, pytest.raises(StoreError, match="follows the cluster"):
        memories.recall("ada", "Paris")


def test_wrong_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ENGINE", "steam")
    with pytest.raises(UsageError, match="engine"):
        Palimpsest.open()


def test_the_class_of_mem0_opens_the_store_of_the_settings() -> None:
    Path("palimpsest.toml").write_text('store = "of-file"\n')
    memory = Memory()
    assert memory.memories.folder == Path("of-file").absolute()
    memory.memories.close()


def test_the_judge_of_the_settings_reads_conversations(
    monkeypatch: pytest.MonkeyPatch, memories: Palimpsest
) -> None:
    asked: list[str | None] = []

    async def memories_of(
        _messages: Sequence[Any], _about: Any, _rules: Any, judge: JudgeSettings, **_: Any
    ) -> list[Any]:
        asked.append(judge.model)
        return []

    monkeypatch.setattr(submissions, "memories_of", memories_of)
    monkeypatch.setenv("PALIMPSEST_JUDGE_MODEL", "of-variable")
    memories.add("Ada lives in Paris.", "ada")
    memories.add("Ada lives in Paris.", "ada", judge=JudgeSettings(model="given"))
    assert asked == ["of-variable", "given"]


@pytest.mark.parametrize("value", ["[1]", "3"])
def test_a_path_in_the_settings_is_a_text(value: str) -> None:
    Path("palimpsest.toml").write_text(f"store = {value}\n")
    with pytest.raises(UsageError, match="store: should be a path, as a string"):
        Palimpsest.open()


def test_a_store_in_the_home_folder_is_named_as_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Path("palimpsest.toml").write_text('store = "~/of-file"\n')
    with Palimpsest.open() as memories:
        assert memories.folder == tmp_path / "home/of-file"
    with Palimpsest.open("~/of-program") as memories:
        assert memories.folder == tmp_path / "home/of-program"
    assert not (tmp_path / "~").exists()


def test_settings_that_are_no_file_are_refused() -> None:
    """A container makes a folder if the file to mount is missing on the host."""
    file = Path("palimpsest.toml")
    file.mkdir()
    with pytest.raises(UsageError, match=r"palimpsest.toml is a folder"):
        Palimpsest.open()
    file.rmdir()
    file.symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"palimpsest.toml is not a file, or a broken link"):
        Palimpsest.open()


def test_settings_that_may_not_be_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    Path("palimpsest.toml").write_text('store = "of-file"\n')
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UsageError, match=r"palimpsest.toml cannot be read: Permission denied"):
        Palimpsest.open()


def test_a_current_folder_that_was_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(StoreError, match="the current folder was removed"):
        Palimpsest.open("mine")
    with Palimpsest.open(tmp_path / "mine") as memories:
        assert memories.folder == tmp_path / "mine"
