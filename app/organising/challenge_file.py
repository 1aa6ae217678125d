"""A challenge as a file: its settings in YAML or JSON, what is wrong with one, and how two of them differ. Pure.

The settings are the answers of the steps and the models of the pages; annotation, pictures and people are no part of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_serializer,
)
from pydantic_core import ErrorDetails

from app.challenges.pictures_from import UNSAID, ParticipantsPictures
from app.challenges.texts import LongTexts
from app.core import plain_yaml
from app.core.errors import FieldsError
from app.core.plain_yaml import Document, Path
from app.intake.class_choices import MOST_CHOSEN
from app.intake.reports import ClassChoice
from app.organising import draft_rules
from app.organising.draft_rules import PhaseChoice, ScoringChoice, SharedRules, What
from app.submissions.questions import MOST_QUESTIONS, NewQuestion
from app.web.forms import error_message

# more than the longest texts that the pages take, and than the names of as many classes as they take
LARGEST: Final = 256 * 1024
MOST_PHASES: Final = 20
LONGEST_VALUE: Final = 300  # characters that are shown of one
HEAD: Final = "# Settings of a challenge, without annotation, pictures and people.\n"
STRICT: Final = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)
REPLACED: Final = frozenset({"phases"})  # a file names all of them, or does not speak of them


class ScoringSettings(ScoringChoice):
    """The fourth step in a file."""

    model_config = STRICT


class RulesSettings(SharedRules):
    """The fifth step in a file, without the people whom it invites."""

    model_config = STRICT


class ClassSetting(BaseModel):
    """A class of the annotation; written as its name alone if it stays as it is."""

    model_config = STRICT

    found: Annotated[str, Field(min_length=1, max_length=1000)]
    name: Annotated[str, Field(max_length=1000)] = ""
    is_ignored: bool = False

    @classmethod
    def of(cls, choice: ClassChoice) -> "ClassSetting":
        """Return what was chosen for a class."""
        name = choice.name if choice.is_renamed else ""
        return cls.model_construct(found=choice.found, name=name, is_ignored=choice.is_ignored)

    @property
    def choice(self) -> ClassChoice:
        """What organisers make of the class."""
        return ClassChoice(
            self.found, self.found if self.is_ignored else self.name or self.found, self.is_ignored
        )

    @model_serializer
    def _short(self) -> str | dict[str, str | bool]:
        if self.is_ignored:
            return {"found": self.found, "is_ignored": True}
        return {"found": self.found, "name": self.name} if self.name else self.found


def _class(given: object) -> object:
    return {"found": given} if isinstance(given, str) else given


class ChallengeSettings(What):
    """Everything that is decided about a challenge; None and empty: not yet, or as usual."""

    model_config = STRICT

    classes: Annotated[
        tuple[Annotated[ClassSetting, BeforeValidator(_class)], ...], Field(max_length=MOST_CHOSEN)
    ] = ()
    scoring: ScoringSettings | None = None
    rules: RulesSettings | None = None
    # those for which scoring and rules do not hold, by image set
    phases: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=100)], PhaseChoice],
        Field(max_length=MOST_PHASES, default_factory=dict),
    ]
    texts: LongTexts = LongTexts()
    pictures: ParticipantsPictures = UNSAID
    questions: Annotated[tuple[NewQuestion, ...], Field(max_length=MOST_QUESTIONS)] = ()
    shortest_description: Annotated[int, Field(ge=0, le=4000)] = 500

    @property
    def what(self) -> What:
        """The first step."""
        return What(**{name: getattr(self, name) for name in What.model_fields})

    @property
    def plain(self) -> dict[str, Any]:
        """The settings as the file has them."""
        return self.model_dump(mode="json", warnings=False)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """What is wrong with a file. line: None if the file does not speak of it; where: the names that lead to the value."""

    line: int | None
    where: str
    message: str

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return ", ".join(filter(None, (f"line {self.line}" if self.line else "", self.where)))

    @property
    def sentence(self) -> str:
        """The whole problem.

        >>> FileProblem(3, "rules.total", "must be a whole number").sentence
        'line 3, rules.total: must be a whole number'
        """
        return f"{self.place}: {self.message}" if self.place else self.message


class FileError(FieldsError):
    """A file of settings is wrong; nothing was changed."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        found: dict[str, list[str]] = {}
        for each in problems:
            found.setdefault(each.place, []).append(each.message)
        super().__init__({place: "; ".join(messages) for place, messages in found.items()})
        self.problems = problems


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting of a challenge that a file has otherwise. refusal: why it stays; empty if it can be changed."""

    where: str
    now: str
    wanted: str
    refusal: str = ""


# reading and writing


def written(settings: ChallengeSettings) -> str:
    """Write settings as YAML."""
    return HEAD + plain_yaml.write(settings.plain)


def document_of(content: bytes) -> Document:
    """Read a file as far as its settings. Raises FileError."""
    document = plain_yaml.read(content, LARGEST)
    if document.problems:
        raise FileError(tuple(FileProblem(each.line, "", each.message) for each in document.problems))
    if not isinstance(document.value, dict):
        found = (
            "nothing"
            if document.value is None
            else "a list"
            if isinstance(document.value, list)
            else "a text"
        )
        raise FileError((FileProblem(1, "", f"expected settings such as 'title: Birds', found {found}"),))
    return document


def code_of(document: Document) -> str:
    """Return the address in a file, which may be invalid; empty if there is none."""
    code = document.value.get("code")
    return code.strip() if isinstance(code, str) else ""


def settings_in(document: Document, now: ChallengeSettings | None = None) -> ChallengeSettings:
    """Return the settings of a file; what it does not speak of is as it is now. Raises FileError."""
    given = _merged(now.plain, document.value) if now else document.value
    try:
        return ChallengeSettings.model_validate(given)
    except ValidationError as error:
        raise FileError(tuple(_problem(document, each) for each in error.errors())) from error


def _merged(now: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(now)
    for name, value in given.items():
        before: Any = now.get(name)
        is_block = isinstance(before, dict) and isinstance(value, dict) and name not in REPLACED
        merged[name] = (
            _merged(before, value) if is_block else before if value is None and name in BLOCKS else value
        )
    return merged


BLOCKS: Final = frozenset({"scoring", "rules", "phases", "texts", "pictures", "classes", "questions"})


def refuse(document: Document, problems: Mapping[Path, str]) -> None:
    """Raise FileError if there are problems, each at the line of its value."""
    if problems:
        raise FileError(
            tuple(
                FileProblem(document.line_of(path), _name(path), message)
                for path, message in problems.items()
            )
        )


def _problem(document: Document, error: ErrorDetails) -> FileProblem:
    path = tuple(each for each in error["loc"] if each != "[key]")
    return FileProblem(document.line_of(path), _name(path), _message(error))


def _name(path: Path) -> str:
    """Write a path as people do, with places in lists from 1.

    >>> _name(("questions", 0, "kind"))
    'questions[1].kind'
    """
    return "".join(f"[{each + 1}]" if isinstance(each, int) else f".{each[:60]}" for each in path).lstrip(".")


_MESSAGES: Final = {
    "extra_forbidden": "is no setting that can stand here",
    "string_type": "must be a text",
    "string_pattern_mismatch": "has a line break or a character that cannot be stored",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a block of settings",
    "model_type": "must be a block of settings",
    "model_attributes_type": "must be a block of settings",
    "timezone_aware": "must be a date and a time with its zone, such as 2027-03-31T12:00Z",
    "datetime_parsing": "must be a date and a time with its zone, such as 2027-03-31T12:00Z",
    "datetime_from_date_parsing": "must be a date and a time with its zone, such as 2027-03-31T12:00Z",
    "datetime_type": "must be a date and a time with its zone, such as 2027-03-31T12:00Z",
}


def _message(error: ErrorDetails) -> str:
    """Say what was expected, and what was found if that is short."""
    message = _MESSAGES.get(error["type"]) or error_message(error)
    given = error["input"]
    if error["type"] == "missing":
        return message
    if error["type"] == "too_long" and isinstance(given, list | tuple | dict):
        return f"may have at most {error['ctx']['max_length']} entries; found {len(given)}"
    if given is None:
        return f"{message}; found nothing"
    if isinstance(given, str) and repr(given) not in message and error["type"] != "extra_forbidden":
        shown = given if len(given) <= 40 else f"{given[:40]}…"
        return f"{message}; found {shown!r}"
    return message


# differences


def differences(now: ChallengeSettings, wanted: ChallengeSettings) -> tuple[SettingDifference, ...]:
    """List the settings that differ, in the order of the file."""
    before, after = dict(_values(now.plain)), dict(_values(wanted.plain))
    return tuple(
        SettingDifference(_name(path), _in_words(before.get(path)), _in_words(after.get(path)))
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    )


def _values(plain: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if not isinstance(plain, dict):
        yield path, plain
        return
    for name, value in plain.items():
        yield from _values(value, (*path, name))


def _in_words(value: Any) -> str:
    """Write a value as a table has it.

    >>> _in_words([{"text": "Runtime"}, "cat"]), _in_words(True), _in_words(None)
    ('text: Runtime; cat', 'yes', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        words = "; ".join(map(_in_words, value))
    elif isinstance(value, dict):
        words = ", ".join(
            f"{name}: {_in_words(each)}" for name, each in value.items() if each not in ("", [], False)
        )
    else:
        words = str(value)
    return words if len(words) <= LONGEST_VALUE else f"{words[:LONGEST_VALUE]}…"


def problems_of(settings: ChallengeSettings, dataset: str, now: datetime) -> Mapping[Path, str]:
    """Return what contradicts itself in the settings of a draft, by its place.

    Whom it is for is said in step 5, so that a challenge for invited people may name nobody here.
    """
    found: dict[Path, str] = {
        (name,): message for name, message in draft_rules.problems_of_what(settings.what).items()
    }
    if settings.scoring:
        scoring = draft_rules.problems_of_scoring(settings.scoring, dataset)
        found |= {("scoring", name): message for name, message in scoring.items()}
    if settings.rules:
        rules = draft_rules.problems_of_rules(rules_choice(settings.rules, now), settings.scoring, (), now)
        found |= {("rules", name): message for name, message in rules.items() if name != "invited"}
    texts = [each.text for each in settings.questions]
    found |= {
        ("questions", place, "text"): "stands there twice; give each question a text of its own"
        for place, text in enumerate(texts)
        if text in texts[:place]
    }
    phases = draft_rules.problems_of_phases(settings.phases, (), now)
    return found | {("phases", name): message for name, message in phases.items()}


def rules_choice(rules: SharedRules, now: datetime, invited: str = "") -> draft_rules.RulesChoice:
    """Return rules as step 5 has them."""
    given = {name: getattr(rules, name) for name in SharedRules.model_fields}
    return draft_rules.RulesChoice.model_construct(**given, invited=invited, saved_at=now)
