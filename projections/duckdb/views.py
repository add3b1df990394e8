# Queries are built from names in this package and quoted paths, never from input.
# ruff: noqa: S608
"""The analysts' views as SQL, over the segments of one store (docs/design.md).

A view over several tables reads the position first, then each table up to that position, so that a
concurrent commit never shows in one table but not another. DuckDB lists a table's files when it
meets the table in the text, which is why the position comes before the tables.

Our own queries name the files, because replaced segments stay for a minute: in a store that is
written all the time, most segments have been replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from palimpsest.projections.base.columns import Table
from palimpsest.projections.duckdb.audit import COMPARED, REVIEW_QUEUE, SEPARATIONS, TIMELINE
from palimpsest.projections.duckdb.segments import FOLDER, POSITION
from palimpsest.projections.duckdb.tables import (
    CANDIDATES,
    COMPOSITIONS,
    DECISIONS,
    JUDGES,
    MEMORIES,
    POLICIES,
    REVIEWS,
    RUNS,
    STATEMENTS,
    VERDICTS,
    WORDS,
)

FILE = "palimpsest.duckdb"
FILES = "files"
"""The variable of a connection with the files that its query reads, by table."""
MOVED = (
    "this store was moved or copied since its views were written: run `palimpsest sql` here once,"
    " then open the file again; on a read-only disk, write views elsewhere with `palimpsest sql"
    " --views FILE`"
)


_ESCAPED = str.maketrans({char: f"[{char}]" for char in "*?["})


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def literal_glob(path: str) -> str:
    """A path with its wildcard characters escaped."""
    return path.translate(_ESCAPED)


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a store's segments, and the file of the views, if they are in one.

    `named`: the files are those in the connection's variable `FILES`, instead of all.
    """

    segments: str
    file: str | None = None
    named: bool = False

    def scan(self, table: str) -> str:
        """Every row of a table, from all segments."""
        if self.named:
            return f"read_parquet(getvariable({quoted(FILES)}).{table})"
        pattern = f"{literal_glob(self.segments)}/*/{table}.parquet"
        return f"read_parquet({quoted(pattern)})"

    def horizon(self) -> str:
        """The query of the highest position of any segment; it fails if the store was moved."""
        position = f"SELECT max(position) AS position FROM {self.scan(POSITION)}"
        if self.file is None:
            return position
        here = f"EXISTS (FROM duckdb_databases() WHERE path = {quoted(self.file)})"
        return f"{position} WHERE CASE WHEN {here} THEN true ELSE error({quoted(MOVED)}) END"


def place_of(folder: Path, *, named: bool = False) -> Place:
    """The segments of a folder as DuckDB sees them, with links resolved."""
    return Place((folder.resolve() / FOLDER).as_posix(), named=named)


def current(place: Place, table: Table) -> str:
    """A table's rows as of the horizon: per key the row with the highest position, from one file.

    Rows are found by key and position alone: a window over whole rows took four times as long.
    """
    own = ", ".join(f"s.{key}" for key in table.key)
    same = " AND ".join(f"t.{key} = latest.{key}" for key in table.key)
    rows = (
        f"SELECT t.* FROM (SELECT {own}, max(s.position) AS at, arg_max(filename, s.position) AS f"
        f" FROM horizon h, {place.scan(table.name)} s WHERE s.position <= h.position"
        f" GROUP BY {own}) latest"
        f" JOIN {place.scan(table.name)} t"
        f" ON {same} AND t.position = latest.at AND t.filename = latest.f"
    )
    if not table.buries:
        return rows
    return f"SELECT * EXCLUDE (living) FROM ({rows}) WHERE living"


_PARTS = {
    "d": DECISIONS,
    "c": CANDIDATES,
    "r": REVIEWS,
    "v": VERDICTS,
    "w": WORDS,
    "t": COMPOSITIONS,
    "p": POLICIES,
    "s": STATEMENTS,
    "m": MEMORIES,
    "j": JUDGES,
}
"""The tables, by the letters that the queries below use."""

_DECISIONS = """
SELECT d.decision_id, d.candidate_id, d.joined_to, c.memory_id, d.owner_id, d.namespace, d.decision,
       d.similarity,
       CASE WHEN d.joined_to IS NOT NULL
            THEN r.review_status IS DISTINCT FROM 'reversed' END AS standing,
       d.decided_at, d.position, coalesce(r.review_status, 'unreviewed') AS review_status,
       d.policy, d."check", d.cues, d.face_rule, d.rank, d.nearest_id, d.nearest_similarity,
       d.asked, d.neighbours, d.llm_answer, d.llm_reasoning, d.actor, d.because, d.source,
       d.session_id, d.reason, d.detail, d.digest, d.event, d.cause, d.consequence_of, d.differs,
       len(d.differs) > 0 AND d.differs <> ['sentence_case'] AS folded
FROM d LEFT JOIN c ON c.candidate_id = d.candidate_id
       LEFT JOIN r ON r.decision_id = d.decision_id
"""

_POLICY_OUTCOMES = """
SELECT d.policy, d.decision, count(*) AS n,
       count(*) FILTER (r.review_status = 'reversed') AS reversed,
       count(*) FILTER (r.review_status = 'confirmed') AS confirmed,
       avg(d.similarity) AS mean_similarity, max(d.position) AS position
FROM d LEFT JOIN r ON r.decision_id = d.decision_id
WHERE d.policy IS NOT NULL GROUP BY ALL
"""

_REMOVAL_RATE = """
SELECT owner_id, namespace, count(*) AS candidates, count(DISTINCT memory_id) AS memories,
       count(*) - count(DISTINCT memory_id) AS removed,
       (count(*) - count(DISTINCT memory_id)) / count(*) AS rate, max(position) AS position
FROM c WHERE living GROUP BY ALL
"""

_JUDGE_COST = """
SELECT answered_at::DATE AS day, model, prompt, count(*) AS verdicts,
       count(*) FILTER (calls = 0 AND coalesce(seconds, 0) = 0 AND answer <> 'unavailable')
           AS known,  -- a request that the service refused took seconds, and is no call
       count(*) FILTER (answer = 'unavailable') AS unavailable,
       count(*) FILTER (answer = 'unusable') AS unusable, sum(calls) AS calls,
       sum(input_tokens)::BIGINT AS input_tokens, sum(output_tokens)::BIGINT AS output_tokens,
       CASE WHEN bool_or(calls > 0 AND cost_usd IS NULL) THEN NULL
            ELSE sum(cost_usd) END AS cost_usd,
       sum(seconds) AS seconds, max(position) AS position
FROM v GROUP BY ALL
"""

_SENT_OUT = """
SELECT answered_at, owner_id, candidate_id, neighbour_id, model, protocol, remote, step, calls,
       event_id, position
FROM v WHERE calls > 0 AND remote IS DISTINCT FROM FALSE
"""

_JUDGES = """
SELECT judge, list(set_at ORDER BY position) AS set_at,
       any_value(protocol) AS protocol, any_value(platform) AS platform,
       any_value(model) AS model, any_value(review_model) AS review_model,
       any_value(address) AS address, any_value(first_protocol) AS first_protocol,
       any_value(first_platform) AS first_platform, any_value(first_model) AS first_model,
       any_value(first_address) AS first_address, any_value(certificate) AS certificate,
       any_value(same_from) AS same_from, any_value(different_below) AS different_below,
       max(position) AS position
FROM j GROUP BY judge
"""

_DAILY = """
SELECT decided_at::DATE AS day, decision, count(*) AS n, max(position) AS position
FROM d GROUP BY ALL
"""


def views(place: Place) -> dict[str, str]:
    """The query of each view, by name."""

    def over(names: str, select: str) -> str:
        tables = ", ".join(f"{name} AS ({current(place, _PARTS[name])})" for name in names)
        return f"WITH horizon AS MATERIALIZED ({place.horizon()}), {tables} {select}"

    def alone(table: Table, hidden: str = "") -> str:
        rows = current(place, table)
        shown = f"SELECT * EXCLUDE ({hidden}) FROM ({rows})" if hidden else rows
        return f"WITH horizon AS MATERIALIZED ({place.horizon()}) {shown}"

    return {
        "log_position": place.horizon(),
        "candidates": alone(CANDIDATES),
        "memories": alone(MEMORIES),
        "compositions": alone(COMPOSITIONS, "hash"),
        "policies": alone(POLICIES),
        "runs": alone(RUNS),
        "verdicts": alone(VERDICTS),
        "judges": over("j", _JUDGES),
        "decisions": over("dcr", _DECISIONS),
        "events": over("dwc", TIMELINE),
        "joins": over("dcr", f"SELECT * FROM ({_DECISIONS}) WHERE joined_to IS NOT NULL"),
        "separations": over("swrtdc", SEPARATIONS),
        "dedup_log": over("dcrwtp", COMPARED),
        "review_queue": over("dcrwtpm", REVIEW_QUEUE),
        "daily": over("d", _DAILY),
        "policy_outcomes": over("dr", _POLICY_OUTCOMES),
        "removal_rate": over("c", _REMOVAL_RATE),
        "judge_cost": over("v", _JUDGE_COST),
        "sent_out": over("v", _SENT_OUT),
    }
