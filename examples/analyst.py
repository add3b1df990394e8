"""An analyst's queries: plain DuckDB on the file of views, while the store is in use.

Run `python examples/analyst.py`. DuckDB's own CLI and DBeaver open the same file; `palimpsest sql`
prints how.
"""

from __future__ import annotations

import duckdb

from palimpsest import Palimpsest

TEXTS = ("Ada owns 2 cats.", "Ada owns 3 cats.", "Ada owns 2 cats", "Ada owns 2 cats.")
QUESTIONS = {
    "decisions by kind": "SELECT decision, sum(n) AS n FROM daily GROUP BY ALL ORDER BY ALL",
    "what is asked": "SELECT new_text, existing_text, cues FROM review_queue",
    "share of candidates removed": "SELECT owner_id, round(rate, 2) AS rate FROM removal_rate",
}


def main() -> None:
    """Fill a store, and query it in SQL."""
    with Palimpsest.open("analyst-store") as memories:
        memories.submit([{"owner_id": "ada", "text": text} for text in TEXTS])
        with duckdb.connect(str(memories.sql_file.resolve()), read_only=True) as views:
            for what, query in QUESTIONS.items():
                print(f"{what}: {views.sql(query).fetchall()}")


if __name__ == "__main__":
    main()
