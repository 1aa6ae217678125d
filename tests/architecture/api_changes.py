"""What two descriptions of the API differ in that breaks the programs of people.

Whatever a program sent before has to be accepted, and whatever it read has to be there: fields, calls and parameters may be
added, never removed; a request may not ask for more, and an answer may not hold values of other types.

`python -m tests.architecture.api_changes` stores the description of now.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from app.main import Site
from tests.shared import ROOT

STORED: Final = ROOT / "tests" / "architecture" / "openapi.json"
WORDS: Final = frozenset(
    {"title", "description", "summary", "tags", "operationId", "examples", "example", "default"}
)
NAMES: Final = frozenset({"properties", "schemas", "paths"})  # their keys are names, not words of JSON Schema
LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")

Json = Mapping[str, Any]


class Direction(Enum):
    """Who writes a value."""

    REQUEST = "request"
    ANSWER = "answer"


def essence(value: Any, *, are_names: bool = False) -> Any:
    """Return a part of a description without words for people and without the answers to requests that failed."""
    if isinstance(value, list):
        return [essence(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if are_names or name not in {*WORDS, "4XX"}}
    return {name: essence(each, are_names=name in NAMES and not are_names) for name, each in kept.items()}


def described() -> Json:
    """Return the description of the API of now."""
    whole = Site(title="heldout").openapi()
    parts: dict[str, Any] = essence({"paths": whole["paths"], "schemas": whole["components"]["schemas"]})
    return parts


def stored() -> Json:
    """Return the description that was stored last."""
    parts: dict[str, Any] = json.loads(STORED.read_text())
    return parts


def store() -> None:
    """Store the description of now, one line for each path and schema."""
    groups = (
        f'"{group}": {{\n' + ",\n".join(f"{json.dumps(name)}: {json.dumps(one, sort_keys=True)}" for name, one in sorted(parts.items())) + "\n}"
        for group, parts in described().items()
    )  # fmt: skip
    STORED.write_text("{" + ",\n".join(groups) + "}\n")


@dataclass(frozen=True)
class Comparison:
    """Two descriptions that are compared, and the schemas that were."""

    old: Json
    new: Json
    seen: set[tuple[str, Direction]] = field(default_factory=set)

    def changes(self) -> Iterator[str]:
        """Yield a sentence for each change that breaks programs."""
        for path, methods in self.old["paths"].items():
            for method, before in methods.items():
                call = f"{method.upper()} {path}"
                after = self.new["paths"].get(path, {}).get(method)
                if after is None:
                    yield f"{call} is gone"
                else:
                    yield from self._of_call(call, before, after)

    def _of_call(self, call: str, before: Json, after: Json) -> Iterator[str]:
        old, new = (
            {(each["in"], each["name"]): each for each in one.get("parameters", ())}
            for one in (before, after)
        )
        for place, name in old.keys() - new.keys():
            yield f"{call}: the {place} parameter {name} is gone"
        for (place, name), each in new.items():
            if each.get("required") and not old.get((place, name), {}).get("required"):
                yield f"{call}: the {place} parameter {name} is required now"
            if (place, name) in old:
                where = f"{call}: the {place} parameter {name}"
                yield from self._of_schema(
                    where, old[place, name]["schema"], each["schema"], Direction.REQUEST
                )
        body, new_body = before.get("requestBody", {}), after.get("requestBody", {})
        if new_body.get("required") and not body.get("required"):
            yield f"{call}: a body is required now"
        yield from self._of_contents(f"{call}: the body", body, new_body, Direction.REQUEST)
        for status, answer in before["responses"].items():
            if status not in after["responses"]:
                yield f"{call}: the status {status} is gone"
            else:
                where = f"{call}: the answer"
                yield from self._of_contents(where, answer, after["responses"][status], Direction.ANSWER)

    def _of_contents(self, where: str, old: Json, new: Json, direction: Direction) -> Iterator[str]:
        for kind, before in old.get("content", {}).items():
            after = new.get("content", {}).get(kind)
            if after is None:
                yield f"{where} as {kind} is gone"
            else:
                yield from self._of_schema(
                    where, before.get("schema", {}), after.get("schema", {}), direction
                )

    def _of_schema(self, where: str, old: Json, new: Json, direction: Direction) -> Iterator[str]:
        before, after = _by_type(old, self.old), _by_type(new, self.new)
        is_request = direction is Direction.REQUEST
        lost, came = (before, after) if is_request else (after, before)
        for kind in sorted(lost.keys() - came.keys() - {"integer" if "number" in came else ""}):
            if "anything" not in came:
                yield f"{where} may not be {kind} any more" if is_request else f"{where} may be {kind} now"
        for kind in before.keys() & after.keys():
            name = before[kind].name
            if (name, direction) not in self.seen:
                self.seen.update({(name, direction)} if name else ())
                yield from self._of_type(name or where, before[kind].schema, after[kind].schema, direction)

    def _of_type(self, where: str, old: Json, new: Json, direction: Direction) -> Iterator[str]:
        """Compare two schemas of the same type."""
        if direction is Direction.REQUEST:
            yield from _narrowed(where, old, new)
        fields, new_fields = old.get("properties", {}), new.get("properties", {})
        for name in fields:
            if name not in new_fields:
                yield f"{where}.{name} is gone"
            else:
                yield from self._of_schema(f"{where}.{name}", fields[name], new_fields[name], direction)
        known, required = set(old.get("required", ())), set(new.get("required", ()))
        if direction is Direction.REQUEST:
            yield from (f"{where}.{name} is required now" for name in sorted(required - known))
        else:
            yield from (
                f"{where}.{name} may be missing now"
                for name in sorted((known - required) & new_fields.keys())
            )
        for inner, word in (("items", "each"), ("additionalProperties", "each value")):
            before, after = old.get(inner), new.get(inner)
            if isinstance(before, dict) and isinstance(after, dict):
                yield from self._of_schema(f"{where}, {word}", before, after, direction)
        parts, new_parts = old.get("prefixItems", ()), new.get("prefixItems", ())
        if len(parts) != len(new_parts):
            yield f"{where} has {len(new_parts)} parts in place of {len(parts)}"
        for number, (before, after) in enumerate(zip(parts, new_parts, strict=False), 1):
            yield from self._of_schema(f"{where}, part {number}", before, after, direction)


@dataclass(frozen=True)
class Alternative:
    """What a value of a type has to be. name: of its schema, empty without one."""

    name: str
    schema: Json


def _by_type(schema: Json, known: Json) -> dict[str, Alternative]:
    """Return the alternatives of a schema by their types; several objects are one, with the fields of all."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        found = _by_type(known["schemas"][name], known)
        return {kind: Alternative(name, each.schema) for kind, each in found.items()}
    if "anyOf" not in schema:
        return {schema.get("type", "anything"): Alternative("", schema)}
    joined: dict[str, Alternative] = {}
    for each in schema["anyOf"]:
        for kind, one in _by_type(each, known).items():
            joined[kind] = _joined(joined[kind], one) if kind in joined else one
    return joined


def _joined(one: Alternative, other: Alternative) -> Alternative:
    """Return what accepts either of two values of a type."""
    fields = {**one.schema.get("properties", {}), **other.schema.get("properties", {})}
    required = {*one.schema.get("required", ())} & {*other.schema.get("required", ())}
    return Alternative(f"{one.name} or {other.name}", {"properties": fields, "required": sorted(required)})


def _narrowed(where: str, old: Json, new: Json) -> Iterator[str]:
    """Yield how a value that is sent is limited more than before."""
    values, accepted = _values(old), _values(new)
    if accepted is not None:
        if values is None:
            yield f"{where} takes only {', '.join(map(str, accepted))} now"
        else:
            yield from (f"{where} does not take {each} any more" for each in values if each not in accepted)
    for name in (*LEAST, *MOST):
        before, after = old.get(name), new.get(name)
        if after is not None and (before is None or (after > before if name in LEAST else after < before)):
            yield f"{where} has {name} {after} now"
    for name in ("pattern", "format"):
        if new.get(name) not in (None, old.get(name)):
            yield f"{where} has {name} {new[name]} now"


def _values(schema: Json) -> list[Any] | None:
    """The only values of a schema; None if there are others."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


if __name__ == "__main__":
    store()
