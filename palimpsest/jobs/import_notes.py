"""What a store remembers of its imports: where the rows were, and how they were understood.

It is no part of the log: an export reads the source again, as it was read then.
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
    """One imported source; `fields` are their names by ours, as `FieldMapping` has them.

    `model` made its vectors: it was named, and a few embedded again were the same.
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
        """The note of an import that begins."""
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
        """How the rows were understood."""
        return FieldMapping(dict(self.fields), self.owner, self.left_out)


_NOTES = TypeAdapter(list[Note])


def notes_of(folder: Path) -> list[Note]:
    """All notes of a store. StoreError where they cannot be read."""
    file = folder / FILE
    if not file.is_file():
        return []
    try:
        return _NOTES.validate_json(file.read_bytes())
    except ValidationError as error:
        raise StoreError(f"{file} cannot be read: it is not as an import leaves it") from error


def refuse_another(folder: Path, note: Note) -> None:
    """UsageError if another location was imported under this name: ids would collide."""
    for one in notes_of(folder):
        if one.source == note.source and one.path != note.path:
            raise UsageError(
                f"{note.source} is the name of {one.path}, imported before: give --source with"
                " another name, or with this one if it is the same store in another place"
            )


def remember(folder: Path, note: Note) -> None:
    """Save the note, replacing the source's previous one. Does nothing if there is no store."""
    if not folder.is_dir():
        return
    others = [one for one in notes_of(folder) if one.source != note.source]
    file = folder / FILE
    new = file.with_suffix(".new")
    new.write_bytes(_NOTES.dump_json([*others, note], indent=2))
    new.chmod(0o600)
    new.replace(file)
