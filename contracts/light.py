"""The base of events and of their parts: structs that msgspec creates and reads.

Each is declared once. From that declaration pydantic derives the validator for input from
elsewhere, the serializer, and the JSON Schema.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, dataclass_transform, get_args, get_type_hints

from msgspec import NODEFAULT, Struct, StructMeta, structs
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaSerializer, core_schema

TAG = "type"
"""The field that distinguishes the kinds of a union; its value is each kind's `tag`."""


class _LightMeta(StructMeta):
    """Makes fields keyword-only (`kw_only` is not inherited), and a tag readable as `type`."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _LightMeta:
        if "tag" in options:
            namespace[TAG] = options["tag"]
        return super().__new__(mcs, name, bases, namespace, kw_only=True, **options)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Light(Struct, metaclass=_LightMeta, frozen=True, gc=False, forbid_unknown_fields=True):
    """An immutable value, compared by its fields. The constructor validates nothing.

    No value contains itself, so Python's garbage collector need not track any (`gc=False`).
    """

    __dataclass_fields__: ClassVar[None] = None
    """Its presence makes pydantic's serializer read attributes; None makes `dataclasses` fail."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates fields like a model's, also those of instances, which are not validated yet."""

        def validated(value: Any, model: core_schema.ValidatorFunctionWrapHandler) -> Light:
            fields, *_ = model(structs.asdict(value) if isinstance(value, cls) else value)
            fields.pop(TAG, None)
            return cls(**fields)

        fields = wire_fields(cls)
        schemas = {
            name: handler.generate_schema(field.annotation) for name, field in fields.items()
        }
        models = {
            name: core_schema.model_field(_optional(schemas[name], field.default))
            for name, field in fields.items()
        }
        arguments = [core_schema.dataclass_field(name, schema) for name, schema in schemas.items()]
        return core_schema.chain_schema(
            [
                core_schema.no_info_wrap_validator_function(
                    validated,
                    core_schema.model_fields_schema(
                        models, model_name=cls.__name__, extra_behavior="ignore"
                    ),
                ),
                # Accepts every instance: only its serializer is used.
                core_schema.dataclass_schema(
                    cls, core_schema.dataclass_args_schema(cls.__name__, arguments), [*schemas]
                ),
            ],
            ref=f"{cls.__module__}.{cls.__qualname__}",
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Title and description like a model's: the class's name and docstring."""
        found = handler(schema)
        handler.resolve_ref_schema(found).update(
            title=cls.__name__, description=" ".join((cls.__doc__ or "").split())
        )
        return found


class Tagged:
    """Annotates a union for pydantic: the tag selects the kind."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A tagged union of the kinds."""
        kinds = {kind.type: handler.generate_schema(kind) for kind in get_args(source)}
        return core_schema.tagged_union_schema(kinds, TAG)


class WireField(NamedTuple):
    """A field on the wire; `default` is NODEFAULT if it is required."""

    annotation: Any
    default: Any


def wire_fields(kind: type[Light]) -> dict[str, WireField]:
    """A kind's fields by name in the order of the wire, including the tag."""
    declared = {field.name: field for field in structs.fields(kind)}
    tag = kind.__struct_config__.tag
    found = {}
    for name, annotation in get_type_hints(kind, include_extras=True).items():
        if name in declared:
            found[name] = WireField(annotation, _default(declared[name]))
        elif name == TAG:
            found[name] = WireField(Literal[tag], tag)
    return found


def _default(field: structs.FieldInfo) -> Any:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def _optional(schema: CoreSchema, default: Any) -> CoreSchema:
    if default is NODEFAULT:
        return schema
    return core_schema.with_default_schema(schema, default=default)


@cache
def serializer(kind: type[Light]) -> SchemaSerializer:
    """The serializer of a kind; creating it takes milliseconds, so that happens at first use."""
    return TypeAdapter(kind).serializer


def to_json(value: Light, *, exclude_none: bool = False) -> dict[str, Any]:
    """The value as JSON values, in the wire format."""
    written: dict[str, Any] = serializer(type(value)).to_python(
        value, mode="json", exclude_none=exclude_none
    )
    return written
