"""A collection that Qdrant's client keeps in a folder, without a server.

Its points are pickled. They are read without the client, which would change the files, and without
running any code that a pickle names: only the client's own models are accepted, as plain values.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import CountedRows, Fields, Item, Kind, SourcePlace, one_of
from palimpsest.sources.read_only import open_read_only

META = "meta.json"
STORAGE = "storage.sqlite"
WHY_TRUST = (
    "Qdrant pickles its points, and a pickle can be made to run a program when it is read."
    " Only Qdrant's own kinds of values are accepted here; even so, read only files that you"
    " trust"
)
_OF_MEM0 = ("mem0migrations", "_entities")
"""Collections that hold no memories."""
_NUMPY = ("numpy._core.multiarray", "numpy.core.multiarray")
_PLAIN = frozenset(
    {
        ("builtins", "set"),
        ("builtins", "frozenset"),
        ("collections", "OrderedDict"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("uuid", "UUID"),
        *((module, name) for module in _NUMPY for name in ("_reconstruct", "scalar")),
    }
)


def is_qdrant(path: Path) -> bool:
    """Whether a folder belongs to Qdrant's client."""
    return (path / META).is_file() and (path / "collection").is_dir()


def locate_file(place: SourcePlace) -> Path:
    """The file of the requested collection; UsageError if that is ambiguous."""
    try:
        names = sorted(orjson.loads((place.path / META).read_bytes())["collections"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"{place.path / META} names no collections") from error
    own = [name for name in names if not name.endswith(_OF_MEM0)] or names
    found = one_of(names if place.table else own, place.table, "collection")
    return place.path / "collection" / found / STORAGE


class QdrantSource(CountedRows):
    """The points of a collection: payload, id and dense vector."""

    kind: Kind = "qdrant"

    def __init__(self, place: SourcePlace) -> None:
        """UsageError if the collection is ambiguous, or not trusted."""
        trusted = place.trust if isinstance(place.trust, bool) else place.trust(WHY_TRUST)
        if not trusted:
            raise UsageError(f"{WHY_TRUST}: confirm it with --trust")
        self.file = locate_file(place)
        self.name = self.file.parent.name
        with open_read_only(self.file) as connection:
            [self._total] = connection.execute("SELECT count(*) FROM points").fetchone()

    def rows(self) -> Iterator[Item]:
        """Each point, in its latest version: older clients wrote a changed point twice."""
        self._done = 0
        with open_read_only(self.file) as connection:
            seen = set()
            for _, point in points(connection):
                self._done += 1
                if point["id"] not in seen:
                    seen.add(point["id"])
                    yield _row(point)


def points(connection: Any) -> Iterator[tuple[int, Fields]]:
    """Every stored point with its row's number, the latest first."""
    for number, raw in connection.execute("SELECT rowid, point FROM points ORDER BY rowid DESC"):
        yield number, _unpickled(raw)


def _row(point: Fields) -> Fields:
    row = dict(point.get("payload") or {}) | {"id": str(point["id"])}
    vector = point.get("vector")
    if isinstance(vector, dict):  # vectors by name: a single dense one is used
        dense = [part for part in vector.values() if not isinstance(part, _Model)]
        vector = dense[0] if len(dense) == 1 else None
    return row if vector is None else row | {"vector": vector}


class _Model:
    """Any of the client's models."""

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state.get("__dict__") or {})


class _Unpickler(pickle.Unpickler):
    """Accepts the client's models and plain values, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("qdrant_client."):
            return _Model
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        raise UsageError(f"a point has a value that is not one of Qdrant's: {module}.{name}")


def _unpickled(raw: bytes) -> Fields:
    try:
        found = _Unpickler(io.BytesIO(raw)).load()
    except UsageError:
        raise
    except Exception as error:  # damaged bytes can mean anything
        raise UsageError(
            "a point cannot be read: it is damaged, or of an unknown version"
        ) from error
    point = vars(found) if isinstance(found, _Model) else {}
    if "id" not in point:
        raise UsageError("a point cannot be read: it has no id")
    return point
