"""Makes `contracts`, `projections` and `streams` in a clone the same modules as in `palimpsest`.

An editable installation has the clone's root on the path, so that a program can import the folders
by their own names. Without this module they would be copies, whose classes `palimpsest` rejects.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from types import CodeType, ModuleType

FOLDERS = ("contracts", "projections", "streams")


class _Folders(MetaPathFinder, InspectLoader):
    def find_spec(self, fullname: str, *_path: object) -> ModuleSpec | None:
        """The file of a folder's module, to be replaced by the package's module."""
        real = _real(fullname)
        if real is None:
            return None
        inside = real.submodule_search_locations
        return spec_from_file_location(
            fullname, real.origin, loader=self, submodule_search_locations=inside
        )

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(f"palimpsest.{name}")

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of a module, which `python -m` runs."""
        real = _real(fullname)
        assert real is not None, "it was found"
        assert isinstance(real.loader, InspectLoader), "it is a file"
        return real.loader.get_code(real.name)

    def get_source(self, _fullname: str) -> None:
        """No text: `get_code` needs none."""


def _real(name: str) -> ModuleSpec | None:
    return find_spec(f"palimpsest.{name}") if name.partition(".")[0] in FOLDERS else None


sys.meta_path.insert(0, _Folders())
for folder in sys.modules.keys() & FOLDERS:  # the one whose import led here
    sys.modules[folder] = importlib.import_module(f"palimpsest.{folder}")
