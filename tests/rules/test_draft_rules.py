"""What the steps of a new challenge mean for its phases, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from app.challenges.phase_rules import PhaseRules
from app.intake import draft_phases
from app.intake.class_choices import problems_of_choices
from app.intake.reports import ClassChoice, ClassCount, FoundSet, ImageFacts, Report
from app.models import ChallengeDraft, ChallengeVisibility, Disclosure, Quota
from app.organising import draft_rules
from app.organising.draft_rules import OthersRows, RulesChoice, ScoringChoice, TermsChoice, What

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
CLASSES = (ClassCount("heron", 3, 4, 0), ClassCount("ibis", 1, 1, 0))
HIDDEN = PhaseRules(opens_at=NOW, disclosure=Disclosure.CLASSES, quotas=draft_phases.NEW_QUOTAS)
PUBLIC = PhaseRules(opens_at=NOW, disclosure=Disclosure.FULL)


def found(
    role: str, name: str, dataset: str = "birds", competitions: tuple[int, ...] = (1, 2, 3, 4)
) -> FoundSet:
    return FoundSet(f"{role}-{name}", role, name, "table (CSV)", dataset, name, 30, 50, CLASSES, competitions)


SETS = (found("public", "train"), found("public", "val"), found("hidden", "test"))


def scoring(
    disclosure: Disclosure = Disclosure.CLASSES, others: OthersRows = OthersRows.LIVE, **more: object
) -> ScoringChoice:
    form = {"protocol": "voc2012", "disclosure": disclosure, "others": others, **more}
    return ScoringChoice.model_validate(form)


def rules(**changes: object) -> RulesChoice:
    return RulesChoice.model_validate({"per_week": 2, **changes})


@pytest.mark.parametrize(
    ("dataset", "tasks", "tracks", "expected"),
    [
        ("birds", ["detection"], "one", (4,)),
        ("birds", ["classification", "detection"], "two", (1, 2, 3, 4)),
        ("VOC2007", ["segmentation", "layout"], "one", (5, 7)),
        ("COCO", ["detection", "segmentation"], "two", (1, 2)),
        ("VOC2012", ["action"], "one", (10, 12)),
    ],
)
def test_tasks_and_tracks_choose_competitions(
    dataset: str, tasks: list[str], tracks: str, expected: tuple[int, ...]
) -> None:
    assert draft_phases.competitions_of(dataset, tasks, tracks) == expected


def test_protocols_have_rules_for_the_whole_data_set_the_usual_one_first() -> None:
    assert draft_phases.protocols_of("COCO") == ("coco",)
    assert draft_phases.protocols_of("VOC2007")[0] == "voc2007"
    assert draft_phases.protocols_of("birds")[0] == "voc2012"
    assert "coco" not in draft_phases.protocols_of("birds")


def test_the_rules_that_a_phase_begins_with_contradict_nothing() -> None:
    assert list(HIDDEN.contradictions()) == list(PUBLIC.contradictions()) == []


@pytest.mark.parametrize(
    "disclosure",
    [each for each in Disclosure if each is not Disclosure.FULL],
    ids=lambda each: each.name.lower(),
)
def test_what_a_team_sees_is_the_disclosure_of_hidden_sets_alone(disclosure: Disclosure) -> None:
    closes = NOW + timedelta(days=42)
    choice = scoring(disclosure, OthersRows.AT_CLOSE, closes_at=closes, details_at_close=True)

    test, val = choice.applied_to(HIDDEN, NOW), choice.applied_to(PUBLIC, NOW)

    assert (test.disclosure, test.closes_at, test.embargo, test.details_at_close) == (
        disclosure,
        closes,
        True,
        True,
    )
    assert val == PUBLIC
    assert ScoringChoice.form_of("voc2012", test)["others"] == "at close"
    again = scoring(**{**ScoringChoice.form_of("voc2012", test), "protocol": "voc2012"})
    assert again.applied_to(test, NOW) == test


def test_nobody_shows_everything_of_hidden_annotation_by_a_form() -> None:
    with pytest.raises(ValidationError, match="stays hidden"):
        scoring(Disclosure.FULL)


def test_dates_and_quotas_are_those_of_main_phases_and_others_open_with_them() -> None:
    opens, closes = NOW + timedelta(days=1), NOW + timedelta(days=42)
    choice = rules(opens_at=opens, closes_at=closes, total=12)
    other = replace(HIDDEN, quotas=(Quota(9, 30),))

    test, val = choice.applied_to(other, NOW, is_main=True), choice.applied_to(PUBLIC, NOW, is_main=False)

    assert (test.opens_at, test.closes_at) == (opens, closes)
    assert test.quotas == (Quota(2, 7), Quota(9, 30), Quota(12, None))
    assert val == replace(PUBLIC, opens_at=opens)


def problems(choice: RulesChoice, before: PhaseRules = HIDDEN) -> dict[str, str]:
    after = choice.applied_to(before, NOW, is_main=True)
    return dict(draft_rules.problems_of_rules(choice, [after], NOW))


def test_all_problems_of_the_rules_are_told_at_once() -> None:
    broken = rules(
        per_week=None,
        closes_at=NOW - timedelta(days=1),
        visibility=ChallengeVisibility.INVITED,
        terms=TermsChoice.OWN,
    )

    assert sorted(problems(broken)) == ["closes_at", "invited", "per_week", "terms_text"]
    assert problems(rules()) == {}
    short = rules(terms=TermsChoice.OWN, terms_text="Be fair.")
    assert "at least 20" in problems(short)["terms_text"]
    wrong = rules(visibility=ChallengeVisibility.INVITED, invited="nobody")
    assert "neither an address" in problems(wrong)["invited"]
    for choice in (scoring(Disclosure.AT_CLOSE), scoring(others=OthersRows.AT_CLOSE)):
        after = choice.applied_to(HIDDEN, NOW)
        told = draft_rules.problems_of_scoring(choice, "birds", [after], NOW)
        assert "needs a closing date" in told["closes_at"]


def test_the_rows_of_others_are_frozen_for_days_before_the_close_of_hidden_sets() -> None:
    frozen = scoring(others=OthersRows.FROZEN, frozen_days=7)

    def told(days: int | None) -> dict[str, str]:
        closes_at = None if days is None else NOW + timedelta(days=days)
        after = frozen.applied_to(replace(HIDDEN, closes_at=closes_at), NOW)
        return dict(draft_rules.problems_of_scoring(frozen, "birds", [after], NOW))

    assert frozen.applied_to(replace(PUBLIC, closes_at=NOW + timedelta(days=30)), NOW).frozen_days == 0
    without = scoring(others=OthersRows.FROZEN)
    assert (
        "say for how many days"
        in draft_rules.problems_of_scoring(without, "birds", [HIDDEN], NOW)["frozen_days"]
    )
    assert "needs a closing date" in told(None)["closes_at"]
    assert "from the opening on" in told(5)["frozen_days"]
    assert told(8) == {}


def test_sets_of_one_name_or_without_the_task_are_refused() -> None:
    twice = (found("public", "test"), found("hidden", "test"))
    mixed = (found("hidden", "test"), found("public", "val", "COCO", (1,)))

    def problem(sets: tuple[FoundSet, ...], task: str = "detection") -> str:
        return draft_phases.problem_of_sets(sets, [task], "one")

    assert "two sets are called test" in problem(twice)
    assert "do not mix" in problem(mixed)
    assert "no annotation for action" in problem(SETS[:1], "action")
    assert problem(SETS) == ""
    assert [each.key for each in draft_phases.chosen_sets(SETS, None)] == ["public-val", "hidden-test"]


def test_images_without_a_picture_are_known_to_the_organisers() -> None:
    draft = ChallengeDraft(tasks=["detection"], tracks="one")
    lacking = (replace(SETS[2], without_picture=3),)

    assert "3 of 30 images" in draft_rules.problems_of_check(draft, lacking, 2)["without_picture"]
    assert draft_rules.problems_of_check(draft, lacking, 3) == {}


def test_coco_like_challenges_have_the_tasks_of_coco() -> None:
    about = {"title": "Birds", "code": "birds", "template": "coco"}

    assert What.model_validate({**about, "tasks": ["segmentation", "detection"]}).columns["tasks"] == [
        "detection",
        "segmentation",
    ]
    with pytest.raises(ValidationError, match="not action"):
        What.model_validate({**about, "tasks": ["detection", "action"]})


def page(*sets: FoundSet) -> str:
    licences = {"Images": "", "Annotations": "CC0-1.0"}
    return draft_rules.page_of("Find them", ["detection"], "voc2012", licences, sets)


def test_the_page_says_no_more_of_hidden_annotation_than_how_many_images_it_has() -> None:
    text = page(*SETS)

    assert "| val | 30 | 50 |" in text
    assert "| test | 30 | hidden |" in text
    assert "Detection of 2 classes: heron, ibis." in text
    assert "Annotations are under CC0-1.0." in text


def test_the_page_counts_difficult_objects_apart_as_other_pages_do() -> None:
    val = replace(SETS[1], classes=(ClassCount("heron", 20, 30, 8), ClassCount("ibis", 10, 10, 2)))

    assert "| val | 30 | 40 (50 with difficult ones) |" in page(val)


def test_terms_name_the_licences_and_are_known_again() -> None:
    research = draft_rules.research_terms("Birds", "CC-BY-4.0", "")

    assert "By taking part in Birds" in research
    assert "images under CC-BY-4.0" in research
    kinds = {each: draft_rules.form_of_terms(each, research)["terms"] for each in ("", research, "Be fair.")}
    assert kinds == {"": "none", research: "research", "Be fair.": "own"}


@pytest.mark.parametrize(
    ("tasks", "choices", "expected"),
    [
        (["detection"], (ClassChoice("heron", "grey heron"), ClassChoice("ibis", "ibis")), {"class-1"}),
        (
            ["detection"],
            (ClassChoice("heron", "x" * 101), ClassChoice("ibis", "a/b")),
            {"class-1", "class-2"},
        ),
        (["detection"], (ClassChoice("heron", "ibis"), ClassChoice("ibis", "", is_ignored=True)), set()),
        (
            ["action"],
            (ClassChoice("heron", "heron"), ClassChoice("ibis", "ibis", is_ignored=True)),
            {"classes"},
        ),
        (["layout"], (ClassChoice("person", "walker"), ClassChoice("ibis", "ibis")), {"classes"}),
        (["segmentation"], (ClassChoice("heron", "ibis"), ClassChoice("ibis", "heron")), set()),
    ],
)
def test_new_names_of_classes_fit_files_and_tasks(
    tasks: list[str], choices: tuple[ClassChoice, ...], expected: set[str]
) -> None:
    classes = tuple(ClassChoice(each.found, each.found) for each in choices)
    report = Report((), (), (), SETS[:1], ImageFacts(30), classes)

    assert problems_of_choices(choices, report, tasks).keys() == expected
