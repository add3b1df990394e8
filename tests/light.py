"""What makes a test process cheaper: conftest.py and the forges of processes begin with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import typer.main

from palimpsest.process.gc_thresholds import raise_gc_thresholds
from palimpsest.process.import_shims import lighten_lancedb
from palimpsest.projections.base.files import OWNERS_ONLY
from palimpsest.projections.base.source import Effect, no_effect
from palimpsest.projections.duckdb import queries as analysts
from palimpsest.projections.duckdb.segments import FOLDER
from palimpsest.streams.embedder import DEFAULT_MODEL, load
from palimpsest.streams.embedder.batch_check import Measurable
from palimpsest.streams.embedder.contract import Progress

comment_on_columns = vars(analysts)["_comment_on_columns"]
"""The real one, for the test that reads the comments."""
write_views = vars(analysts)["_write_views"]
"""The real one, for tests that open a file of views."""
_write_tables: Callable[[Path, Effect], None] = vars(analysts)["_write_empty_tables"]
_tables: dict[Path, bytes] = {}
"""The files of empty tables, once they are known."""
_load: Callable[..., Measurable] = vars(load)["_load"]


def lighten() -> None:
    """Set Python as the command line sets it, and build the tree of commands once.

    Each store's file of views is a copy of the first one, without comments on columns: to write it
    costs three times as much as all else of a new store. So its views are of another store, which
    only an analyst would notice who opens the file: queries of Palimpsest have views of their own.
    Its empty tables, too, are copies of the first ones, which are the same bytes. The default model
    is loaded once.

    Before anything imports LanceDB or typer's test client.
    """
    raise_gc_thresholds()
    lighten_lancedb()
    vars(typer.main)["get_command"] = cache(typer.main.get_command)
    vars(analysts)["_comment_on_columns"] = _say_nothing
    vars(analysts)["_write_views"] = _write_known_views
    vars(analysts)["_write_empty_tables"] = _write_known_tables
    vars(load)["_load"] = _load_once


def learn_views() -> None:
    """Write views in a process that ends: those that are forked from this one copy them."""
    with TemporaryDirectory() as folder:
        file = analysts.views_file(Path(folder))
        if writing := os.fork():
            os.waitpid(writing, 0)
        else:
            try:
                write_views(file, vars(analysts)["_views_in"](file, Path(folder)))
            finally:
                os._exit(0)
        _views(_say_nothing).append(file.read_bytes())


def _write_known_views(file: Path, wanted: dict[str, str]) -> None:
    known = _views(vars(analysts)["_comment_on_columns"])
    if known:
        file.write_bytes(known[0])
    else:
        write_views(file, wanted)
        known.append(file.read_bytes())


def _write_known_tables(folder: Path, effect: Effect) -> None:
    """Copy them if nothing is there yet and nobody looks on, as tests of each step do."""
    segments = folder / FOLDER
    if effect is not no_effect or segments.exists():
        _write_tables(folder, effect)
    elif not _tables:
        _write_tables(folder, effect)
        [segment] = segments.iterdir()
        _tables.update(
            {Path(segment.name) / file.name: file.read_bytes() for file in segment.iterdir()}
        )
    else:
        for name, written in _tables.items():
            (segments / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (segments / name).touch(OWNERS_ONLY)
            (segments / name).write_bytes(written)


@cache
def _views(_comments: object) -> list[bytes]:
    return []


def _load_once(model: str, engine: str, cache_dir: Path, tell: Progress) -> Measurable:
    if (model, engine) != (DEFAULT_MODEL, "onnx"):
        return _load(model, engine, cache_dir, tell)
    return _default_model(cache_dir)


@lru_cache(1)
def _default_model(cache_dir: Path) -> Measurable:
    return _load(DEFAULT_MODEL, "onnx", cache_dir, lambda *_: None)


def _say_nothing(_: duckdb.DuckDBPyConnection) -> None: ...
