"""Makes `contracts`, `projections` and `streams` in a clone the same modules as in `palimpsest`.

An editable installation has the clone's root on the path, so that a program can import the folders
by their own names. They would be copies, with classes that `palimpsest` does not take.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FOLDERS = ("contracts", "projections", "streams")


class _Folders(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, *_path: object) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] in FOLDERS else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(f"palimpsest.{name}")


sys.meta_path.insert(0, _Folders())
for folder in sys.modules.keys() & FOLDERS:  # which is being imported
    sys.modules[folder] = importlib.import_module(f"palimpsest.{folder}")
