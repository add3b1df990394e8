"""`sql` reads the views of one store, and does nothing else, whatever a query says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.cli.main import app
from palimpsest.contracts.errors import PalimpsestError
from palimpsest.projections.duckdb.queries import ensure_views, query
from tests.tables import each

SEGMENTS = "{store}/projections/segments"

FORBIDDEN = [
    # Whatever is not a SELECT, alone or after one.
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{store}/log.sqlite'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{store}/projections/segments/x.csv'",
    "EXPLAIN SELECT 1",
    "COPY (SELECT 1) TO '{elsewhere}'",
    "COPY decisions FROM '{secret}'",
    "EXPORT DATABASE '{elsewhere}'",
    "IMPORT DATABASE '{elsewhere}'",
    "ATTACH '{store}/log.sqlite' AS log (TYPE sqlite)",
    "ATTACH '{elsewhere}' AS other",
    "DETACH palimpsest",
    "USE memory",
    "INSTALL sqlite",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "SET GLOBAL threads = 64",
    "PRAGMA enable_profiling",
    "PRAGMA profiling_output = '{elsewhere}'",
    "CALL enable_logging('QueryLog')",
    "CREATE TABLE t AS SELECT 1",
    "CREATE SECRET s (TYPE s3)",
    "DROP VIEW memories",
    "INSERT INTO memories SELECT * FROM memories",
    "DELETE FROM memories",
    "UPDATE memories SET face = ''",
    "BEGIN",
    "CHECKPOINT",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "VACUUM",
    "SELECT 1; COPY (SELECT 1) TO '{elsewhere}'",
    "SELECT 1; SELECT 2",
    # What writes inside a SELECT.
    "WITH x AS (COPY (SELECT 1) TO '{store}/projections/segments/x.csv') FROM x",
    "WITH x AS (COPY (SELECT 1) TO '{store}/log.sqlite') FROM x",
    "SELECT * FROM (WITH x AS (COPY (SELECT 1) TO '{elsewhere}') FROM x)",
    "WITH x AS (INSERT INTO memories SELECT * FROM memories RETURNING *) FROM x",
    "WITH x AS (DELETE FROM memories RETURNING *) FROM x",
    # SQL hidden in a text, and functions that change the connection.
    "FROM query('SELECT 1')",
    "FROM query_table('memories')",
    """FROM json_execute_serialized_sql(json_serialize_sql(
         'WITH x AS (COPY (SELECT 1) TO ''{store}/projections/segments/x.csv'') FROM x'))""",
    "FROM enable_logging('QueryLog', storage='file', storage_config={{'path': '{store}'}})",
    "FROM arrow_scan(1, 1, 1)",
    "FROM force_checkpoint()",
    # What reads beyond the segments.
    "FROM read_text('{secret}')",
    "FROM read_blob('{store}/log.sqlite')",
    "FROM read_csv('{secret}')",
    "FROM read_json('{secret}')",
    "FROM '{secret}'",
    "FROM glob('{store}/*')",
    "FROM read_text('{store}/projections/segments/../../../secret.txt')",
    "FROM read_parquet('https://example.org/x.parquet')",
    "FROM read_text('{store}/projections/segments-of-others/secret.txt')",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "FROM memories WHERE face IN (SELECT content FROM read_text('{secret}'))",
    "WITH x AS MATERIALIZED (FROM read_text('{secret}')) FROM x",
    "FROM sqlite_scan('{store}/log.sqlite', 'events')",
    "SELECT getenv('HOME')",
    "FROM duckdb_extensions()",
    "FROM secret_rows",
]
ALLOWED = [
    "SELECT 1",
    "FROM memories",
    "TABLE memories",
    "VALUES (1)",
    "(SELECT 1) UNION ALL (SELECT 2)",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) FROM t",
    "WITH x AS (SELECT 1 AS n) FROM x;",
    "DESCRIBE memories",
    "SUMMARIZE memories",
    "SHOW TABLES",
    "PIVOT decisions ON decision IN ('stored') USING count(*)",
    "FROM duckdb_columns() WHERE table_name = 'memories'",
    "FROM read_parquet('" + SEGMENTS + "/*/position.parquet')",
    "-- a comment\nSELECT 'COPY x TO y; INSERT' AS text",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sql")
    (folder / "secret.txt").write_text("a secret\n")
    others = folder / "store" / "projections" / "segments-of-others"
    ensure_views(others.parent)
    others.mkdir()
    (others / "secret.txt").write_text("a secret\n")
    (folder / "store" / "log.sqlite").write_bytes(b"the log")
    files = contents(folder)
    yield folder
    assert contents(folder).keys() == files.keys(), "a query wrote"
    assert contents(folder) == files, "a query wrote"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def filled(text: str, folder: Path) -> str:
    return text.format(
        store=folder / "store", secret=folder / "secret.txt", elsewhere=folder / "elsewhere"
    )


@each("text", FORBIDDEN)
def test_a_query_reads_the_views_and_does_nothing_else(folder: Path, text: str) -> None:
    secret_rows = [{"a": 1}]  # DuckDB would read the variables of a caller
    with pytest.raises(PalimpsestError):
        query(folder / "store" / "projections", filled(text, folder))
    assert secret_rows


@each("text", ALLOWED)
def test_a_select_of_any_form_is_answered(folder: Path, text: str) -> None:
    query(folder / "store" / "projections", filled(text, folder))


def test_a_deep_query_is_an_error_of_the_query(folder: Path) -> None:
    for text in ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, "SELECT 1" + "+1" * 5_000):
        with pytest.raises(PalimpsestError):
            query(folder / "store" / "projections", text)


def test_every_door_refuses_what_is_no_query(tmp_path: Path) -> None:
    store = tmp_path / "store"
    text = f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{store}/log.sqlite'"
    with (
        Palimpsest.open(store) as memories,
        pytest.raises(PalimpsestError, match="only queries"),
    ):
        memories.sql(text)
    log = (store / "log.sqlite").read_bytes()

    async def ask_asynchronously() -> None:
        async with await AsyncPalimpsest.open(store) as memories:
            with pytest.raises(PalimpsestError, match="only queries"):
                await memories.sql(text)

    asyncio.run(ask_asynchronously())
    ran = CliRunner().invoke(app, ["--store", str(store), "sql", text])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert (store / "log.sqlite").read_bytes() == log
