"""What a change to a schema breaks: documents that the old one allowed and the new one refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNIONS = ("anyOf", "oneOf")


def incompatibilities(old_schema: Schema, new_schema: Schema) -> list[str]:
    """What the new schema refuses, or no longer describes, in documents of the old one.

    Each entry is `place: what`; an empty list means that the change only adds. Removed properties
    are listed too: documents with them stay valid, but a reader would no longer find them.
    """
    return list(_Comparison(old_schema, new_schema).differences(old_schema, new_schema, "$"))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._old = old
        self._new = new
        self._under_way: set[tuple[str, str]] = set()

    def differences(self, old: Any, new: Any, at: str) -> Iterator[str]:
        """Yield what is incompatible in `new`, following each pair of references once."""
        refs = (_ref(old), _ref(new))
        if all(refs):
            if refs in self._under_way:
                return
            self._under_way.add(refs)
        yield from self._resolved(_resolve(self._old, old), _resolve(self._new, new), at)
        self._under_way.discard(refs)

    def _resolved(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        if any(kind in old or kind in new for kind in _UNIONS):
            yield from self._alternatives(old, new, at)
            return
        yield from _types(old, new, at)
        yield from _values(old, new, at)
        yield from _bounds(old, new, at)
        yield from _required(old, new, at)
        yield from self._properties(old, new, at)
        yield from self._others(old, new, at)
        if "items" in new:
            yield from self.differences(old.get("items", {}), new["items"], f"{at}[]")

    def _properties(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        there = new.get("properties", {})
        for name, schema in old.get("properties", {}).items():
            if name not in there:
                yield f"{at}.{name}: property removed"
            else:
                yield from self.differences(schema, there[name], f"{at}.{name}")

    def _others(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        """Undeclared properties: allowed, unless `additionalProperties` says otherwise."""
        before, after = (side.get("additionalProperties", True) for side in (old, new))
        if after is False and before is not False:
            yield f"{at}: other properties are refused"
        elif isinstance(after, Mapping) and before is not False:
            yield from self.differences({} if before is True else before, after, f"{at}.*")

    def _alternatives(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        """Yield what the new schema lacks for each old alternative that no new one accepts."""
        for choice in _choices(old):
            lacks = [(other, list(self.differences(choice, other, at))) for other in _choices(new)]
            if all(lack for _, lack in lacks):
                namesakes = [lack for other, lack in lacks if _name(other) == _name(choice)]
                yield from min(namesakes, key=len, default=[f"{at}: {_name(choice)} is refused"])


def _choices(schema: Schema) -> list[Any]:
    for kind in _UNIONS:
        if kind in schema:
            return list(schema[kind])
    return [schema]


def _name(choice: Schema) -> str:
    """What distinguishes an alternative from its siblings: the model it refers to, or its type."""
    return _ref(choice).rpartition("/")[2] or _list(_type_names(choice)) or "anything"


def _ref(schema: Any) -> str:
    return str(schema.get("$ref", "")) if isinstance(schema, Mapping) else ""


def _resolve(root: Schema, schema: Any) -> Schema:
    """The schema that a reference within the document stands for; `true` becomes `{}`."""
    if schema is True:
        return {}
    ref = _ref(schema)
    if not ref:
        found: Schema = schema
        return found
    target: Any = root
    for part in ref.removeprefix("#/").split("/"):
        target = target[part]
    return _resolve(root, target)


def _types(old: Schema, new: Schema, at: str) -> Iterator[str]:
    before, after = _type_names(old), _type_names(new)
    wider = {"integer"} if "number" in after else set()
    unbound = not before and _allowed(old) is None
    if after and (unbound or before - after - wider):
        yield f"{at}: type narrowed from {_list(before) or 'anything'} to {_list(after)}"


def _type_names(schema: Schema) -> set[str]:
    named = schema.get("type", [])
    return {named} if isinstance(named, str) else set(named)


def _values(old: Schema, new: Schema, at: str) -> Iterator[str]:
    before, after = _allowed(old), _allowed(new)
    if after is None:
        return
    if before is None:
        yield f"{at}: narrowed to the values {_list(after)}"
    elif "const" in old and "const" in new and before != after:
        yield f"{at}: constant changed from {_list(before)} to {_list(after)}"
    elif gone := [value for value in before if value not in after]:
        yield f"{at}: values removed: {_list(gone)}"


def _allowed(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return None if values is None else list(values)


def _bounds(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for name in (*_LOWER_BOUNDS, *_UPPER_BOUNDS):
        before, after = old.get(name), new.get(name)
        if after is None or before == after:
            continue
        if before is None or (after > before) == (name in _LOWER_BOUNDS):
            yield f"{at}: {name} narrowed from {before} to {after}"
    for name in ("pattern", "format"):
        if name in new and new[name] != old.get(name):
            yield f"{at}: {name} changed from {old.get(name)} to {new[name]}"


def _required(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for name in new.get("required", []):
        if name not in old.get("required", []):
            new_one = name not in old.get("properties", {})
            yield f"{at}.{name}: {'new required property' if new_one else 'now required'}"


def _list(values: Any) -> str:
    return ", ".join(sorted(map(str, values)))
