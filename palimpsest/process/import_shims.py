"""Parts of libraries that the command line does not import, to start faster.

LanceDB imports a client of remote catalogues, hundreds of generated models: 1.4 of the 2.4 s that
`import lancedb` takes. Nothing here uses a catalogue. The process decides this, not the library:
programs that embed Palimpsest may use catalogues. On Python 3.11, LanceDB's methods are decorated
with a check of signatures that reads the bytecode of each class: a third of the remaining time.

Typer's help imports code that renders Markdown and tracebacks, which takes half of the import's
time; our help has neither.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

CATALOGUES = "lance_namespace_urllib3_client"
CHECKS = "overrides"
NOT_IN_HELP = ("rich.markdown", "rich.traceback")


def lighten_lancedb() -> None:
    """Skip the client and the checks when LanceDB is imported, unless it already is.

    The names that it imports from the client are then empty placeholders.
    """
    if CATALOGUES not in sys.modules:
        sys.meta_path.insert(0, _LeftOut(CATALOGUES))
    if sys.version_info < (3, 12) and CHECKS not in sys.modules:  # later versions check nothing
        checks = ModuleType(CHECKS)
        nothing = type("EnforceOverrides", (), {})
        vars(checks).update(override=lambda method: method, EnforceOverrides=nothing)
        sys.modules[CHECKS] = checks


def import_help() -> None:
    """Import the code that prints help; later imports of the skipped modules get the real ones."""
    if "typer.rich_utils" in sys.modules:
        return
    left_out = [_LeftOut(name) for name in NOT_IN_HELP if name not in sys.modules]
    sys.meta_path[:0] = left_out
    try:
        import typer.rich_utils  # noqa: F401 - later imports find it
    finally:
        for finder in left_out:
            sys.meta_path.remove(finder)
            finder.forget()


class _LeftOut(MetaPathFinder, Loader):
    """Finds a package, and every module in it, as an empty module."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for every name in the package, whether it exists there or not."""
        del path, target
        if not f"{fullname}.".startswith(f"{self.name}."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty."""

    def forget(self) -> None:
        """Forget the empty module: the next import finds the real one."""
        package, _, name = self.name.rpartition(".")
        sys.modules.pop(self.name, None)
        vars(sys.modules[package]).pop(name, None)


class _Empty(ModuleType):
    """Has an empty class for every name, which suffices for annotations."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": _refuse, "__module__": self.__name__})


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise NotImplementedError(f"{type(self).__name__} is left out of the command line")
