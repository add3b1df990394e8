from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from palimpsest.process.targets import write_all


def test_what_cannot_be_written_whole_leaves_what_was_there(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("before")

    def full(_part: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as error:
        write_all({old: lambda part: part.write_text("after"), new: full})
    assert error.value.filename == str(new)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert old.read_text() == "before"


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        write_all({tmp_path / "new": lambda _: Path("source").read_text()})
    assert error.value.filename == "source"


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to("file")
    write_all({tmp_path / "link": lambda part: part.write_text("after")})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "after"


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    write_all({pipe: lambda part: part.write_text("through")})
    reader.join(30)
    assert heard == ["through"]
    assert pipe.is_fifo()
