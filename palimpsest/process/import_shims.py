"""What the command line leaves out of the libraries that it imports.

LanceDB imports a client of remote catalogues, hundreds of generated models: 1.4 of the 2.4 s that
`import lancedb` takes. Nothing here speaks to a catalogue. It is the process that decides this, not
the library: programs that embed Palimpsest may use them. On Python 3.11 a check of signatures
decorates its methods, and reads the bytecode of each class: a third of what is left.

Typer's help imports what renders Markdown and tracebacks, half of its import; the help has neither.
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
    """Have LanceDB's import, if it is still to come, bring neither the client nor the checks.

    What it imports of the client are names without a meaning then.
    """
    if CATALOGUES not in sys.modules:
        sys.meta_path.insert(0, _LeftOut(CATALOGUES))
    if sys.version_info < (3, 12) and CHECKS not in sys.modules:  # later ones check nothing
        checks = ModuleType(CHECKS)
        vars(checks).update(override=_unchecked, EnforceOverrides=type("EnforceOverrides", (), {}))
        sys.modules[CHECKS] = checks


def import_help() -> None:
    """Import what prints the help; later imports of what is left out of it find the real thing."""
    if "typer.rich_utils" in sys.modules:
        return
    left_out = [_LeftOut(name) for name in NOT_IN_HELP if name not in sys.modules]
    sys.meta_path[:0] = left_out
    try:
        import typer.rich_utils  # noqa: F401 - from now on it is found
    finally:
        for one in left_out:
            sys.meta_path.remove(one)
            one.forget()


class _LeftOut(MetaPathFinder, Loader):
    """Finds a module, and every module in it, as something empty."""

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
        """Nothing is in it."""

    def forget(self) -> None:
        """Forget the empty module: the next import finds the real one."""
        package, _, name = self.name.rpartition(".")
        sys.modules.pop(self.name, None)
        vars(sys.modules[package]).pop(name, None)


class _Empty(ModuleType):
    """Has a class of every name, which is good for annotations alone."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": _refuse, "__module__": self.__name__})


def _unchecked(method: Any) -> Any:
    return method


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise NotImplementedError(f"{type(self).__name__} is left out of the command line")
