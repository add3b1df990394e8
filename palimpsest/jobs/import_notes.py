"""Notes of a store's imports: where the rows were, and how their fields were mapped.

They are not part of the log: an export uses them to read the source again in the same way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.model import Model
from palimpsest.sources import FieldMapping, MappedSource

FILE = "imports.json"


class Note(Model):
    """One imported source; `fields` maps our names to theirs, as in `FieldMapping`.

    `model` made its vectors: it was named, and embedding a few texts again gave the same vectors.
    """

    source: str
    path: str
    kind: str
    table: str | None = None
    query: str | None = None
    history: str | None = None
    owner: str | None = None
    renames: dict[str, str] = {}
    fields: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()
    model: str | None = None

    @classmethod
    def of(cls, mapped: MappedSource) -> Self:
        """The note of an import that begins now."""
        place = mapped.place
        return cls(
            source=mapped.name,
            path=str(place.path.absolute()),
            kind=mapped.source.kind,
            table=place.table,
            query=place.query,
            history=str(place.history.absolute()) if place.history else None,
            owner=mapped.mapping.owner,
            renames=mapped.renames,
            fields=mapped.mapping.fields,
            left_out=mapped.mapping.left_out,
        )

    def mapping(self) -> FieldMapping:
        """How the rows were mapped."""
        return FieldMapping(dict(self.fields), self.owner, self.left_out)


_NOTES = TypeAdapter(list[Note])


def notes_of(folder: Path) -> list[Note]:
    """All notes of a store; StoreError if they cannot be read."""
    file = folder / FILE
    if not file.is_file():
        return []
    try:
        return _NOTES.validate_json(file.read_bytes())
    except ValidationError as error:
        raise StoreError(f"{file} cannot be read: it is not what an import writes") from error


def refuse_another(folder: Path, note: Note) -> None:
    """UsageError if another location was imported under this name: ids would collide."""
    for other in notes_of(folder):
        if other.source == note.source and other.path != note.path:
            raise UsageError(
                f"{note.source} is already the name of {other.path}, imported before: give --source"
                " another name, or this one if it is the same store in another place"
            )


def remember(folder: Path, note: Note) -> None:
    """Save the note, replacing the source's previous one. Does nothing if there is no store."""
    if not folder.is_dir():
        return
    others = [other for other in notes_of(folder) if other.source != note.source]
    file = folder / FILE
    new = file.with_suffix(".new")
    new.write_bytes(_NOTES.dump_json([*others, note], indent=2))
    new.chmod(0o600)
    new.replace(file)
