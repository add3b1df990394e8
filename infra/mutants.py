"""Mutation testing: breaks the code in one place at a time, and reports what no test notices.

`python -m infra.mutants [--count 60] [--seed N] [--folders streams/core …] [pytest's arguments]`.
The seed is printed; with the same seed and code, the same breaks are chosen again. Each break is
tried in a copy of the repository, up to the first test that fails with it and passes without. All
breaks are first tried with the nearest tests, then with the laws, then with the rest; a survivor
costs the time of a whole run.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "streams/core",
    "streams/replay",
    "streams/write",
    "streams/log",
    "streams/cluster",
    "projections",
)
OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
LAWFUL = frozenset({"conformance", "core", "laws"})
"""Folders of tests that notice most breaks, anywhere in the code."""
NEAR, OF_LAWS, FAR = range(3)
COPIED = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "4", "--dist", "load"]
UNNOTICED = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
TIMEOUT_SECONDS = 7200


@dataclass(frozen=True)
class Mutant:
    """One break: the bytes of a file from `start` to `end` become `code`."""

    file: Path
    line: int
    start: int
    end: int
    code: str

    def describe(self, source: bytes) -> str:
        """Its place, and the code before and after."""
        was = " ".join(source[self.start : self.end].decode().split())
        return f"{self.file.relative_to(ROOT)}:{self.line}: {was} -> {self.code}"


def mutants(file: Path) -> Iterator[Mutant]:
    """Every break of a file: changed comparisons, conditions and numbers, and removed calls."""
    source = file.read_bytes()
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))

    def mutant(node: ast.expr | ast.stmt, code: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Mutant(file, node.lineno, start, end, code)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(ops=[operator]):
                left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
                yield mutant(node, f"({left} {OPERATORS[type(operator)]} {right})")
            case ast.BoolOp():
                other = " or " if isinstance(node.op, ast.And) else " and "
                yield mutant(node, f"({other.join(f'({ast.unparse(v)})' for v in node.values)})")
            case ast.If() | ast.While() | ast.IfExp():
                yield mutant(node.test, f"(not ({ast.unparse(node.test)}))")
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                yield mutant(node, str(number + 1))
            case ast.Expr(value=ast.Call(func=function)) if "log" not in ast.unparse(function):
                yield mutant(node, "pass")


@cache
def imported(test: Path) -> frozenset[str]:
    """The modules that a file imports, and the names it imports from them, dotted."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(test.read_bytes())):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case _:
                pass
    return frozenset(names)


def distance(test: Path, file: Path) -> tuple[int, bool, int]:
    """How far a test file is from a broken file: the group it runs in, then its place there."""
    place = file.relative_to(ROOT).with_suffix("").parts
    alike = test.parent.name in place
    module = ".".join(("palimpsest", *place))
    named = module.removesuffix(".__init__") in imported(test)
    group = NEAR if alike or named else OF_LAWS if test.parent.name in LAWFUL else FAR
    return group, not (alike and named), -len(test.parts)  # unit tests are in deeper folders


def tests_of(group: int, tests: Sequence[Path], file: Path) -> list[Path]:
    """The tests of a group in which those of a broken file run, the nearest first."""
    ranked = sorted((distance(test, file), test) for test in tests)
    return [test for (its_group, *_), test in ranked if its_group == group]


def unnoticed(
    chosen: Sequence[Mutant], tests: Sequence[Path], arguments: list[str]
) -> dict[int, Mutant]:
    """Try each break, print what became of it, and return those that no test noticed."""
    left = dict(enumerate(chosen, 1))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT, Path(folder) / "copy", symlinks=True, ignore=COPIED))
        for group, (number, mutant) in product((NEAR, OF_LAWS, FAR), [*left.items()]):
            if number not in left:
                continue
            noticed = is_noticed(mutant, copy, tests_of(group, tests, mutant.file), arguments)
            if noticed:
                del left[number]
            if noticed or group == FAR:
                verdict = "noticed " if noticed else "SURVIVED"
                description = mutant.describe(mutant.file.read_bytes())
                print(f"{number:>3} {verdict} {description}", flush=True)
    return left


def is_noticed(mutant: Mutant, copy: Path, tests: Sequence[Path], arguments: list[str]) -> bool:
    """Whether one of these tests fails in a copy that has the break, and passes without."""
    if not tests:
        return False
    place = copy / mutant.file.relative_to(ROOT)
    source = place.read_bytes()
    place.write_bytes(source[: mutant.start] + mutant.code.encode() + source[mutant.end :])
    files = [str(test.relative_to(ROOT)) for test in tests]
    try:
        if run_tests(copy, [*files, *arguments]) in UNNOTICED:
            return False
    except subprocess.TimeoutExpired:
        return True  # it hangs, which nobody would overlook
    finally:
        place.write_bytes(source)
    failed_alone = ["--last-failed", "--last-failed-no-failures", "none"]
    return run_tests(copy, [*files, *arguments, *failed_alone]) != pytest.ExitCode.TESTS_FAILED


def run_tests(copy: Path, arguments: list[str]) -> int:
    """Run tests of the copy up to the first failure, and return pytest's exit status."""
    ended = subprocess.run(
        [*PYTEST, *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return ended.returncode


def main() -> int:
    """Draw breaks, try each, and print the share that was noticed; exit status 1 under 97 %."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m infra.mutants")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--folders", nargs="+", default=FOLDERS)
    given, arguments = parser.parse_known_args()
    print(f"--seed {given.seed}", flush=True)
    files = sorted(file for folder in given.folders for file in (ROOT / folder).rglob("*.py"))
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(given.seed).sample(every, given.count)
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    left = unnoticed(chosen, tests, arguments)
    noticed_count = given.count - len(left)
    print(f"{noticed_count} of {given.count} breaks were noticed, drawn from {len(every):,}")
    return int(len(left) > 0.03 * given.count)


if __name__ == "__main__":
    sys.exit(main())
