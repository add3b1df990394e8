"""The command line never needs the modules that it leaves out of LanceDB's import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from palimpsest.process.import_shims import (CATALOGUES, lighten_lancedb)
lighten_lancedb()
import lancedb
import pyarrow as pa
table = lancedb.connect(sys.argv[1]).create_table("t", pa.table({"number": [1, 2, 3]}))
table.delete("number = 2")
print(table.count_rows(), len([name for name in sys.modules if name.startswith(CATALOGUES)]) < 50)
print("overrides.overrides" in sys.modules)
from lance_namespace import ListTablesRequest
try:
    ListTablesRequest()
except NotImplementedError as error:
    print(error)
"""


def test_tables_need_neither_the_client_of_catalogues_nor_checks_of_methods(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)
    assert ran.stdout.splitlines() == [
        "2 True",
        "False",
        "ListTablesRequest is left out of the command line",
    ], ran.stderr
