"""Names of methods, statements on training data, and texts that may change."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

import heldout_scoring
from app.core.errors import AnswerMissing, DescriptionTooShort, NameFixed, TrainingNotStated
from app.models import QuestionKind
from app.submissions.methods import (
    MethodEdit,
    NewMethod,
    Requirements,
    Training,
    TrainingAnnotation,
    changed_fields,
    edit_refusals,
    name_key,
    name_refusal,
    publication_refusal,
    training_refusals,
    training_text,
)
from app.submissions.questions import QuestionView

LONG = "Features of the whole image, and one linear classifier for each class. " * 8
GIVEN = Training(given_data_only=True)
ANY = Training(other_data="ImageNet-1k", no_excluded_data=True)


def competitions(*numbers: int) -> list[heldout_scoring.CompetitionInfo]:
    return [heldout_scoring.competition_of("VOC2012", number) for number in numbers]


@pytest.mark.parametrize("other", ["lear-flat", "LEAR flat", "Lear.Flat", "LEAR_f1at", "IEAR_flat"])
def test_names_that_look_alike_have_the_same_key(other: str) -> None:
    assert name_key(other) == name_key("LEAR_flat")


@pytest.mark.parametrize("other", ["LEAR_flat+", "LEAR_flat2", "LEARflat", "LEAR"])
def test_names_that_differ_have_different_keys(other: str) -> None:
    assert name_key(other) != name_key("LEAR_flat")


@pytest.mark.parametrize("name", ["LЕAR", "ＬＥＡＲ", "LEAR\u200b", "a\tb", "x" * 41, " ", "é-net"])
def test_a_name_with_misleading_characters_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        NewMethod(name=name)


def test_a_refused_name_is_shown_only_to_the_team_that_owns_it() -> None:
    assert "LEAR" not in name_refusal("1EAR", "LEAR", is_ours=False).message
    assert "your method LEAR" in name_refusal("1EAR", "LEAR", is_ours=True).message


@pytest.mark.parametrize("address", ["javascript:alert(1)", "ftp://a.example/x", "a.example", "//a.example"])
def test_an_address_that_is_not_http_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="https://"):
        NewMethod(name="Net", paper_url=address)


def test_an_address_may_be_omitted_or_removed() -> None:
    assert NewMethod(name="Net", code_url="https://example.org/code").code_url == "https://example.org/code"
    assert MethodEdit(code_url="").code_url == ""


@pytest.mark.parametrize(
    ("training", "numbers", "fields"),
    [
        (GIVEN, (1, 3, 7, 9), []),
        (ANY, (2, 4, 6, 8, 10), []),
        (Training(), (1, 3), ["given_data_only"]),
        (Training(), (2,), ["other_data", "no_excluded_data"]),
        (GIVEN, (2,), ["other_data", "no_excluded_data"]),
        (ANY, (1,), ["given_data_only"]),
        (GIVEN, (5,), ["annotation"]),
        (GIVEN.model_copy(update={"annotation": TrainingAnnotation.BOXES}), (5,), []),
        (Training(), (5, 6), ["given_data_only", "annotation", "other_data", "no_excluded_data"]),
    ],
)
def test_every_missing_field_of_a_statement_is_named(
    training: Training, numbers: tuple[int, ...], fields: list[str]
) -> None:
    found = training_refusals(training, competitions(*numbers))
    assert {each.code for each in found} <= {TrainingNotStated.code}
    assert len(found) == len(fields)
    for refusal, field in zip(found, fields, strict=True):
        assert field in refusal.message


def test_competitions_with_the_same_problem_are_named_together() -> None:
    [refusal] = training_refusals(Training(), competitions(1, 3))
    assert "competitions 1, 3 allows" not in refusal.message
    assert "competitions 1, 3 allow no other" in refusal.message


@pytest.mark.parametrize(("length", "is_refused"), [(0, True), (499, True), (500, False)])
def test_a_public_method_needs_a_description_unless_it_is_a_baseline(
    length: int, *, is_refused: bool
) -> None:
    assert (publication_refusal("x" * length, is_baseline=False) is not None) == is_refused
    assert publication_refusal("x" * length, is_baseline=True) is None


def test_a_challenge_sets_the_minimum_length_of_descriptions() -> None:
    assert publication_refusal("short", is_baseline=False, shortest=5) is None
    assert publication_refusal("short", is_baseline=False, shortest=6) is not None
    assert publication_refusal("", is_baseline=False, shortest=0) is None


METHOD = NewMethod(name="Net", description=LONG)
RUNTIME = QuestionView(1, "Runtime", QuestionKind.NUMBER, "ms", (), True, True, True)


@pytest.mark.parametrize(
    ("change", "has_score", "codes"),
    [
        ({"title": "A net"}, True, []),
        ({"name": "Web"}, False, []),
        ({"name": "Web"}, True, [NameFixed.code]),
    ],
)
def test_a_method_with_a_score_keeps_its_name(
    change: dict[str, str], codes: list[str], *, has_score: bool
) -> None:
    found = edit_refusals(METHOD, METHOD.model_copy(update=change), has_score=has_score)
    assert [each.code for each in found] == codes


@pytest.mark.parametrize(
    ("change", "answers", "codes"),
    [
        ({}, {1: "12"}, []),
        ({}, {}, [AnswerMissing.code]),
        ({"description": "short"}, {2: "yes"}, [DescriptionTooShort.code, AnswerMissing.code]),
        ({"description": "", "is_baseline": True}, {}, []),
    ],
)
def test_a_public_method_meets_all_requirements_of_its_challenge(
    change: dict[str, Any], answers: dict[int, str], codes: list[str]
) -> None:
    required = Requirements(500, (RUNTIME, replace(RUNTIME, id=2, is_required=False)))
    found = required.refusals(METHOD.model_copy(update=change), answers)
    assert [each.code for each in found] == codes


def test_only_changed_fields_are_recorded() -> None:
    assert changed_fields(METHOD, METHOD) == {}
    assert changed_fields(METHOD, METHOD.model_copy(update={"title": "A net"})) == {"title": ""}


@pytest.mark.parametrize(
    ("training", "is_baseline", "text"),
    [
        (GIVEN, False, "Given data only"),
        (ANY, False, "ImageNet-1k"),
        (Training(given_data_only=True, other_data="none"), False, "Given data only"),
        (Training(other_data="None"), False, "Given data only"),
        (Training(), True, "Not stated (baseline)"),
        (Training(), False, "Not stated"),
    ],
)
def test_a_training_statement_is_written_in_words(
    training: Training, text: str, *, is_baseline: bool
) -> None:
    assert training_text(training, is_baseline=is_baseline) == text
