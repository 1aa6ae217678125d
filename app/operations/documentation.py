"""The API reference and the formats of prediction files, generated from routes, schemas and protocols."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import heldout_scoring
from app.boards.boards import board_page
from app.boards.rows import BoardKey
from app.boards.selections import BoardQuery
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.examples import first_file, line_grammar
from app.challenges.phase_rules import PhaseState
from app.challenges.protocols import ProtocolDescription, protocol_named
from app.core.access import Action, Actor
from app.core.errors import NotFoundError
from app.platform import Platform
from heldout_scoring import CompetitionInfo, Description, Image


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a call, or a field of its body."""

    name: str
    where: str  # path, query, header or body
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the API, as the lists show it. summary: its first sentences."""

    method: str
    path: str
    permission: str
    summary: str

    @property
    def anchor(self) -> str:
        """What links to it end with.

        >>> Call("GET", "/api/v1/methods/{method_id}", "", "").anchor
        'get-methods-method-id'
        """
        words = re.findall("[a-z0-9]+", self.path.removeprefix(PREFIX).lower())
        return "-".join((self.method.lower(), *words))


@dataclass(frozen=True, slots=True)
class CallGroup:
    """The calls of a subject. about: what one does with them."""

    slug: str
    title: str
    about: str
    calls: tuple[Call, ...]

    @property
    def count(self) -> int:
        """How many calls."""
        return len(self.calls)


@dataclass(frozen=True, slots=True)
class Operation:
    """A call in full, with an example. paragraphs: what it does."""

    call: Call
    paragraphs: tuple[str, ...]
    fields: tuple[Field, ...]
    status: str
    request: str  # as a command
    response: str  # its body; empty if the response is only a status


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that everybody can send, and what this server answers, shortened. request: its address, for a shell."""

    request: str
    response: str


@dataclass(frozen=True, slots=True)
class FormatView:
    """The format of the prediction files of a task. text: the beginning of an example, None if the files are not text."""

    task: str
    title: str
    path: str
    grammar: str
    file: str | None
    text: str | None


Schema = Mapping[str, Any]  # a part of the OpenAPI description

EXAMPLES: Mapping[str, Any] = {  # by field name; an example in the schema of a field takes precedence
    "challenge": "VOC2012",
    "image_set": "test",
    "competition": 3,
    "competitions": [3],
    "filename": "results.tar.gz",
    "class_name": "car",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "method": "Example_method",
    "team": "Example team",
    "protocol": "voc2012",
    "measure": "Average precision",
    "title": "Detection",
    "name": "Example_method",
    "sort": "mean",
    "status": "ok",
    "code": "VOC2012",
    "dataset": "VOC2012",
    "challenge_title": "PASCAL VOC 2012",
    "contributors": "A. Author, B. Author",
    "affiliation": "Example University",
    "description": "Bag of words, linear classifier",
    "kind": "score_table",
    "scorer": "0.1.0",
    "url": "https://example.org",
}
FORMATS: Mapping[str, Any] = {
    "uuid": "0b0e7e39-8f51-4b6e-9d4c-5a1f6f0c2b11",
    "date-time": "2026-11-21T12:00:00Z",
    "date": "2026-11-21",
    "duration": "P7D",
}
TYPES: Mapping[str, Any] = {"string": "text", "integer": 1, "number": 0.5, "boolean": False, "null": None}
BINARY_METHODS = ("PUT", "PATCH")  # without a JSON body, they send the bytes of an archive


PREFIX: Final = "/api/v1"
SUBJECTS: Final[Mapping[str, tuple[str, str]]] = {
    "challenges": ("Challenges", "Challenges, their phases and rules, news, and search."),
    "data": ("Data", "Files to download: lists, annotation, kits, images."),
    "uploads": ("Uploads", "Send archives, resume them, and read their reports."),
    "submissions": (
        "Submissions",
        "Submit, follow, cancel and withdraw; scores and what stands behind them.",
    ),
    "methods": ("Methods", "What a team says of its methods, and making them public."),
    "leaderboards": ("Leaderboards", "Leaderboards, comparisons and figures."),
    "teams": ("Teams", "Members, invitations and quotas."),
    "anonymous links": ("Anonymous links", "Results for reviewers who must not know whose they are."),
    "questions": ("Questions", "Questions to organisers, and their answers."),
    "notifications": ("Notifications", "What happened, and what of it is mailed; webhooks."),
    "account": ("Account", "What is stored about you."),
    "documentation": ("Documentation", "Protocols and formats of prediction files."),
    "organisers": ("Organising", "Phases, teams, submissions and texts of your challenges."),
    "data sets": ("Data sets", "Images and annotation of organisers, from the first file to the phase."),
    "admins": ("Administration", "People, notices, storage and settings of the server."),
    "operation": ("Service", "Whether the server works."),
}
"""Title and a sentence for each tag of the routes, in the order of the pages: what participants need comes first."""


def call_groups(openapi: Schema, permissions: Mapping[tuple[str, str], str]) -> tuple[CallGroup, ...]:
    """Return all calls by subject. permissions: by method and path."""
    by_tag: dict[str, list[Call]] = {tag: [] for tag in SUBJECTS}
    for path, methods in openapi["paths"].items():
        for method, described in methods.items():
            permission = permissions.get((method.upper(), path), "")
            call = Call(method.upper(), path, permission, _paragraphs(described)[0])
            by_tag.setdefault(described["tags"][0], []).append(call)
    return tuple(
        CallGroup(tag.replace(" ", "-"), *SUBJECTS.get(tag, (tag.capitalize(), "")), tuple(calls))
        for tag, calls in by_tag.items()
        if calls
    )


def operations(openapi: Schema, calls: Sequence[Call]) -> tuple[Operation, ...]:
    """Describe calls in full."""
    schemas = openapi.get("components", {}).get("schemas", {})
    return tuple(operation(call, openapi["paths"][call.path][call.method.lower()], schemas) for call in calls)


def _paragraphs(described: Schema) -> tuple[str, ...]:
    text = described.get("description", described.get("summary", ""))
    return tuple(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def operation(call: Call, described: Schema, schemas: Schema) -> Operation:
    """Describe one call for the page. schemas: those that `$ref` can refer to, by name."""
    status, success = next(
        (code, response) for code, response in described["responses"].items() if code.startswith("2")
    )
    body = _json(described.get("requestBody", {}))
    return Operation(
        call=call,
        paragraphs=_paragraphs(described),
        fields=(*_parameters(described), *_fields(body, schemas)),
        status=f"{status} {HTTPStatus(int(status)).phrase}",
        request=_command(call, described, body, schemas),
        response=_response(_json(success), schemas),
    )


def example_of(schema: Schema, schemas: Schema, name: str = "") -> Any:
    """Return an example of a value that the schema allows.

    >>> example_of({"type": "object", "properties": {"size": {"type": "integer", "minimum": 5}}}, {})
    {'size': 5}
    """
    schema = _resolved(schema, schemas)
    declared = [*schema.get("examples", ()), *(schema[key] for key in ("const", "default") if key in schema)]
    declared += schema.get("enum", ())
    first = next((value for value in declared if value is not None), None)
    if first is not None:
        return first
    if schema.get("type") == "object":
        return _object(schema, schemas)
    return _array(schema, schemas, name) if schema.get("type") == "array" else _value(schema, name)


def _object(schema: Schema, schemas: Schema) -> dict[str, Any]:
    return {name: example_of(one, schemas, name) for name, one in schema.get("properties", {}).items()}


def _array(schema: Schema, schemas: Schema, name: str) -> list[Any]:
    if "prefixItems" in schema:
        return [example_of(one, schemas, name) for one in schema["prefixItems"]]
    items = schema.get("items", {})
    return [example_of(items, schemas, name.removesuffix("s"))] if items else []


def _value(schema: Schema, name: str) -> Any:
    if "format" in schema and schema["format"] in FORMATS:
        return FORMATS[schema["format"]]
    kind = schema.get("type", "null")
    example = EXAMPLES.get(name)
    if example is not None and isinstance(example, type(TYPES[kind])):
        return example
    return schema.get("minimum", TYPES[kind])


def _json(content: Schema) -> Schema:
    schema: Schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _parameters(described: Schema) -> Iterator[Field]:
    for one in described.get("parameters", ()):
        yield Field(one["name"], one["in"], one.get("required", False), one.get("description", ""))


def _fields(schema: Schema, schemas: Schema, before: str = "") -> Iterator[Field]:
    """Yield the fields of a body; the names of nested fields contain dots."""
    resolved = _resolved(schema, schemas)
    for name, field in resolved.get("properties", {}).items():
        is_required = name in resolved.get("required", ())
        yield Field(before + name, "body", is_required, field.get("description", ""))
        yield from _fields(field, schemas, f"{before}{name}.")


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    """Follow references, and skip the null alternative of optional values."""
    if "$ref" in schema:
        return _resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(choices[0], schemas) if choices else schema


def _command(call: Call, described: Schema, body: Schema, schemas: Schema) -> str:
    method, path = call.method, call.path
    words = (
        ["curl"] if method == "GET" else ["curl", "--head"] if method == "HEAD" else ["curl", "-X", method]
    )
    if call.permission != Action.READ_PUBLIC:
        words += ["-H", '"Authorization: Bearer $HELDOUT_TOKEN"']
    query = []
    for parameter in described.get("parameters", ()):
        value = example_of(parameter.get("schema", {}), schemas, parameter["name"])
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(value))
        elif parameter.get("required"):
            if parameter["in"] == "query":
                query.append(f"{parameter['name']}={value}")
            else:
                words += ["-H", shlex.quote(f"{parameter['name']}: {value}")]
    if body:
        words += [
            "-H",
            '"Content-Type: application/json"',
            "-d",
            shlex.quote(json.dumps(example_of(body, schemas))),
        ]
    elif method in BINARY_METHODS:
        words += ["--data-binary", "@results.tar.gz"]
    return " ".join((*words, f'"$HELDOUT_URL{path}{"?" if query else ""}{"&".join(query)}"'))


def _response(schema: Schema, schemas: Schema) -> str:
    return json.dumps(example_of(schema, schemas), indent=2, ensure_ascii=False) if schema else ""


def first_to_try(phases: Sequence[PhaseView]) -> BoardKey | None:
    """Choose a board for the examples of API calls: preferably of an open phase, then of one with public annotation.

    phases: in any order. None if none of them has a suitable board.
    """
    for phase in sorted(phases, key=lambda one: (one.state is not PhaseState.OPEN, one.is_held_out)):
        for info in heldout_scoring.competitions(phase.dataset):
            if not info.own_data and info.number not in phase.not_offered:
                return BoardKey(phase.challenge, phase.image_set, info.number)
    return None


CHALLENGES = ("VOC2012", "COCO")  # together, their competitions have every format
IMAGES = (Image("2012_000001", 500, 375), Image("2012_000002", 500, 333))
EXAMPLE_SETS = {
    "VOC2012": Description(
        "VOC2012",
        "test",
        ("car", "person"),
        ("jumping",),
        IMAGES,
        persons=((IMAGES[0].id, 1),),
        acting=tuple((image.id, 1) for image in IMAGES),
    ),
    "COCO": Description("COCO", "test", ("person",), (), (Image("139", 640, 426),), class_numbers=(1,)),
}


def formats() -> tuple[FormatView, ...]:
    """Return the format of the prediction files of each task."""
    infos = {
        info.task: (dataset, info)
        for dataset in CHALLENGES
        for info in reversed(heldout_scoring.competitions(dataset))
    }
    ordered = sorted(infos.values(), key=lambda each: (CHALLENGES.index(each[0]), each[1].number))
    return tuple(_format(dataset, info) for dataset, info in ordered)


def _format(dataset: str, info: CompetitionInfo) -> FormatView:
    name, content = first_file(EXAMPLE_SETS[dataset], info) or ("", b"")
    return FormatView(
        task=info.task,
        title=info.title,
        path=f"results/{dataset}/{info.file_pattern_of('test')}",
        grammar=line_grammar(info.task),
        file=name or None,
        text=content.decode() or None,
    )


def known_protocol(code: str) -> ProtocolDescription:
    """Return the protocol with this name. Raises NotFoundError."""
    found = protocol_named(code)
    if found is None:
        raise NotFoundError(f"There is no protocol {code!r}")
    return found


def phases_with_examples(platform: Platform) -> tuple[PhaseView, ...]:
    """Return the phases of all listed challenges, the newest first; their pages have examples to download."""
    with platform.snapshot() as session:
        return tuple(challenges.listed_phases(session, Actor()))


def board_to_try(platform: Platform) -> BoardKey | None:
    """Return the board that the examples of API calls use, or None."""
    return first_to_try(phases_with_examples(platform))


SHOWN: Final = ("challenge", "image_set", "name", "headline")  # of a board in the first example
SHOWN_OF_ROWS: Final = ("rank", "method", "mean")


def first_exchange(platform: Platform) -> Exchange | None:
    """Return a request for a leaderboard with its real response; None if there is no leaderboard yet."""
    key = board_to_try(platform)
    try:
        board = board_page(platform, Actor(), key, BoardQuery()).board if key else None
    except NotFoundError:
        board = None
    if board is None:
        return None
    rows = [{name: getattr(row, name) for name in SHOWN_OF_ROWS} for row in board.rows[:2]]
    shown = {name: getattr(board, name) for name in SHOWN} | {"rows": rows}
    path = f"/api/v1/leaderboards/{quote(board.challenge)}/{quote(board.image_set)}/{board.competition}"
    return Exchange(f'"$HELDOUT_URL{path}"', json.dumps(shown, indent=2, ensure_ascii=False))
