"""Which names methods may have, what has to be stated of their training, and when their texts may change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import scoring
from app.errors import DescriptionTooShort, NameFixed, NameTaken, Refusal, TrainingStatement
from app.methods.schemas import Annotation, Change, NewMethod, Training
from app.models import EntryState
from app.names import lookalike_key

SHOWN_STATES = frozenset({EntryState.SCORED, EntryState.REPLACED})  # of a public method, to everybody
NAMES_PEOPLE = ("contributors", "affiliation", "paper_url", "code_url")  # fields that say whose a method is
SHORTEST_DESCRIPTION = 500  # characters of a public method's, as the VOC server asked for
METHOD_NAME = (
    "uq_method_edition_id_name_key"  # the constraint that decides where two methods take one name at once
)
NAME_RACED = NameTaken("another method took this name at the same time; choose another")
SEPARATORS = str.maketrans("_ .", "---")


def name_key(name: str) -> str:
    """The same for two abbreviations that a reader of a board could take for one another.

    >>> name_key("LEAR_flat") == name_key("lear-flat"), name_key("Net 101") == name_key("Net-IO1")
    (True, True)
    >>> name_key("YOLO") == name_key("YOLO+")
    False
    """
    return lookalike_key(name).translate(SEPARATORS)


def name_refusal(name: str, found: str, *, is_ours: bool) -> Refusal:
    """Why a method cannot have this abbreviation: `found` is a method of the edition whose name has the same key."""
    whose = f"your method {found}" if is_ours else "another method of this edition"
    message = f"{name} looks like the name of {whose}; choose a name that cannot be mistaken for it"
    return NameTaken(message)


def training_refusals(
    training: Training, competitions: Iterable[scoring.CompetitionInfo]
) -> tuple[Refusal, ...]:
    """What is missing of a statement on training data, for all these competitions together."""
    chosen = tuple(competitions)
    messages = (*_given_data(training, chosen), *_other_data(training, chosen))
    return tuple(TrainingStatement(message) for message in messages)


def _given_data(training: Training, competitions: Sequence[scoring.CompetitionInfo]) -> Iterable[str]:
    given = [each for each in competitions if not each.own_data]
    if given and not training.given_data_only:
        yield (
            f"state that only the given training and validation data was used ({_numbers(given, 'allow')} "
            "no other; in the API: given_data_only)"
        )
    painted = [each for each in given if each.task == "segmentation"]
    if painted and training.annotation is None:
        choices = " or ".join(f"{one.value!r}" for one in Annotation)
        yield f"state which annotation was used for {_numbers(painted)} (annotation: {choices})"


def _other_data(training: Training, competitions: Sequence[scoring.CompetitionInfo]) -> Iterable[str]:
    other = [each for each in competitions if each.own_data]
    if not other:
        return
    if not training.other_data:
        yield (
            f"name the data that was used ({_numbers(other, 'allow')} any; write 'none' if it was only the "
            "given data: other_data)"
        )
    if not training.no_excluded_data:
        yield (
            f"state that neither the test images nor other excluded data was used for {_numbers(other)} "
            "(no_excluded_data)"
        )


def _numbers(competitions: Sequence[scoring.CompetitionInfo], verb: str = "") -> str:
    numbers = ", ".join(str(each.number) for each in competitions)
    if len(competitions) == 1:
        return f"competition {numbers} {verb}s" if verb else f"competition {numbers}"
    return f"competitions {numbers} {verb}".rstrip()


def publication_refusal(description: str, *, is_baseline: bool) -> Refusal | None:
    """Why a method cannot be public yet: others have to learn how it works. Organisers' baselines may be brief.

    >>> publication_refusal("A linear classifier.", is_baseline=False).message
    'a public method has a description of at least 500 characters, and this one has 20'
    """
    if is_baseline or len(description) >= SHORTEST_DESCRIPTION:
        return None
    message = (
        f"a public method has a description of at least {SHORTEST_DESCRIPTION} characters, and this one has "
        f"{len(description)}"
    )
    return DescriptionTooShort(message)


def unpublishable(description: str, *, is_baseline: bool, is_public: bool) -> str | None:
    """Why a private method cannot be made public as it is, for its page; none if it can, or is."""
    refusal = None if is_public else publication_refusal(description, is_baseline=is_baseline)
    return refusal.message if refusal else None


def edit_refusals(
    before: NewMethod, after: NewMethod, *, is_public: bool, has_score: bool
) -> tuple[Refusal, ...]:
    """Every reason why a method cannot be changed like this: a scored name stays, a public description stays long."""
    found: list[Refusal | None] = []
    if after.name != before.name and has_score:
        message = f"{before.name} has a score, so its name can no longer change"
        found.append(NameFixed(message))
    if is_public:
        found.append(publication_refusal(after.description, is_baseline=after.is_baseline))
    return tuple(each for each in found if each is not None)


def changed_fields(before: NewMethod, after: NewMethod) -> Mapping[str, str]:
    """The fields that differ, with their values before.

    >>> changed_fields(NewMethod(name="Net", title="A net"), NewMethod(name="Net", title="The net"))
    {'title': 'A net'}
    """
    values = after.model_dump()
    return {field: value for field, value in before.model_dump().items() if value != values[field]}


def without_people(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Earlier texts without the fields that say whose a method is."""
    kept = (
        replace(
            change, before={name: text for name, text in change.before.items() if name not in NAMES_PEOPLE}
        )
        for change in changes
    )
    return tuple(change for change in kept if change.before)


def training_text(training: Training, *, is_baseline: bool) -> str:
    """What a statement on training data says, for readers.

    >>> training_text(Training(other_data="ImageNet", no_excluded_data=True), is_baseline=False)
    'ImageNet'
    >>> training_text(Training(given_data_only=True, annotation=Annotation.BOXES), is_baseline=False)
    'Given data only, with segmentations and boxes'
    """
    parts = []
    if training.given_data_only:
        annotation = f", with {training.annotation.value}" if training.annotation else ""
        parts.append(f"Given data only{annotation}")
    if training.other_data:
        parts.append(training.other_data)
    return "; ".join(parts) or ("Not stated (baseline)" if is_baseline else "Not stated")
