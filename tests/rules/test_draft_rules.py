"""What the answers in the steps of a new challenge mean, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.intake.class_choices import problems_in_files, problems_of_choices
from app.intake.formats.reading import COCO
from app.intake.reports import ClassChoice, ClassCount, FoundSet, ImageFacts, Report, proposed_sets
from app.models import ChallengeVisibility, Disclosure, Quota
from app.organising import draft_rules
from app.organising.draft_rules import (
    Answers,
    Check,
    ClassRows,
    Facts,
    OthersRows,
    OwnScores,
    RulesChoice,
    ScoringChoice,
    Step,
    TermsChoice,
    Tracks,
    What,
)
from heldout_scoring.competitions import classes_of

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
CLASSES = (ClassCount("heron", 3, 4, 0), ClassCount("ibis", 1, 1, 0))


def found(
    role: str, name: str, dataset: str = "birds", competitions: tuple[int, ...] = (1, 2, 3, 4)
) -> FoundSet:
    return FoundSet(f"{role}-{name}", role, name, "table (CSV)", dataset, name, 30, 50, CLASSES, competitions)


SETS = (found("public", "train"), found("public", "val"), found("hidden", "test"))


def what(*tasks: str, template: str = "voc", tracks: Tracks = Tracks.ONE) -> What:
    return What.model_validate(
        {
            "title": "Birds",
            "code": "birds",
            "template": template,
            "tasks": tasks or ("detection",),
            "tracks": tracks,
        }
    )


def scoring(
    own: OwnScores = OwnScores.ALL, others: OthersRows = OthersRows.LIVE, **more: bool | int
) -> ScoringChoice:
    return ScoringChoice.model_validate({"protocol": "voc2012", "own": own, "others": others, **more})


def rules(**changes: object) -> RulesChoice:
    return RulesChoice.model_validate({"per_week": 2, "saved_at": NOW, **changes})


@pytest.mark.parametrize(
    ("dataset", "chosen", "expected"),
    [
        ("birds", what("detection"), (4,)),
        ("birds", what("classification", "detection", tracks=Tracks.TWO), (1, 2, 3, 4)),
        ("VOC2007", what("segmentation", "layout"), (5, 7)),
        ("COCO", what("detection", "segmentation", template="coco", tracks=Tracks.TWO), (1, 2)),
        ("VOC2012", what("action"), (10, 12)),
    ],
)
def test_tasks_and_tracks_choose_competitions(dataset: str, chosen: What, expected: tuple[int, ...]) -> None:
    assert draft_rules.competitions_of(dataset, chosen) == expected


def test_competition_numbers_are_for_the_classes_of_pascal_voc() -> None:
    classes = tuple(ClassCount(name, 1, 1, 0) for name in classes_of("VOC2007"))
    voc = FoundSet("hidden-0", "hidden", "test", "kit", "VOC2007", "x", 1, 1, classes, (1,))

    assert draft_rules.is_numbered(what(), (voc,))
    assert not draft_rules.is_numbered(what(), (found("hidden", "test", "VOC2007"),))
    assert not draft_rules.is_numbered(what(), SETS)


def test_protocols_have_rules_for_the_whole_data_set_the_usual_one_first() -> None:
    assert draft_rules.protocols_of("COCO") == ("coco",)
    assert draft_rules.protocols_of("VOC2007")[0] == "voc2007"
    assert "coco" not in draft_rules.protocols_of("birds")


@pytest.mark.parametrize(
    ("own", "ladder", "expected"),
    [
        (OwnScores.ALL, False, Disclosure.CLASSES),
        (OwnScores.MEAN, False, Disclosure.MEAN),
        (OwnScores.MEAN, True, Disclosure.LADDER),
        (OwnScores.NOTHING, False, Disclosure.AT_CLOSE),
    ],
)
def test_what_a_team_sees_is_the_disclosure_of_hidden_sets_alone(
    own: OwnScores, *, ladder: bool, expected: Disclosure
) -> None:
    closes = NOW + timedelta(days=42)
    answers = Answers(
        what(),
        Check(sets=("public-val", "hidden-test")),
        scoring(own, OthersRows.AT_CLOSE, ladder=ladder),
        rules(closes_at=closes, total=12),
    )

    val, test = draft_rules.applications_of(answers, SETS)

    assert (test.phase, test.disclosure, test.quotas, test.closes_at) == (
        "test",
        expected,
        (Quota(2, 7), Quota(12, None)),
        closes,
    )
    assert (val.phase, val.disclosure, val.quotas, val.closes_at) == ("val", None, (), None)
    assert (test.embargo, val.embargo, test.competitions) == (True, False, (4,))


def test_dates_and_quotas_are_those_of_public_sets_where_none_is_hidden() -> None:
    closes = NOW + timedelta(days=3)
    answers = Answers(what(), Check(sets=("public-val",)), scoring(), rules(closes_at=closes, per_week=None))

    [val] = draft_rules.applications_of(answers, SETS)

    assert (val.closes_at, val.quotas, val.disclosure) == (closes, (), None)


def test_a_quota_in_total_has_no_days_whatever_the_dates_are() -> None:
    opens = NOW + timedelta(days=10)
    short = rules(per_week=None, total=9, opens_at=opens, closes_at=opens + timedelta(days=20, hours=1))

    assert draft_rules.quotas_of(short) == (Quota(9, None),)
    assert [str(each) for each in draft_rules.quotas_of(rules(per_day=1, total=30))] == [
        "1 in 1 day",
        "2 in 7 days",
        "30 in total",
    ]


def test_all_problems_of_the_rules_are_told_at_once() -> None:
    broken = rules(
        per_week=None,
        closes_at=NOW - timedelta(days=1),
        visibility=ChallengeVisibility.INVITED,
        terms=TermsChoice.OWN,
    )

    problems = draft_rules.problems_of_rules(broken, scoring(), SETS, NOW)

    assert sorted(problems) == ["closes_at", "invited", "per_week", "terms_text"]
    assert draft_rules.problems_of_rules(rules(), scoring(), SETS, NOW) == {}
    short = rules(terms=TermsChoice.OWN, terms_text="Be fair.")
    assert "at least 20" in draft_rules.problems_of_rules(short, scoring(), SETS, NOW)["terms_text"]
    for choice in (scoring(OwnScores.NOTHING), scoring(others=OthersRows.AT_CLOSE)):
        assert (
            "needs a closing date" in draft_rules.problems_of_rules(rules(), choice, SETS, NOW)["closes_at"]
        )


def test_the_rows_of_others_are_frozen_for_days_before_the_close_of_hidden_sets() -> None:
    frozen = scoring(others=OthersRows.FROZEN, frozen_days=7)
    closes = rules(closes_at=NOW + timedelta(days=30))
    answers = Answers(what(), Check(sets=("public-val", "hidden-test")), frozen, closes)

    def problem(choice: ScoringChoice, days: int | None) -> str:
        chosen = rules(closes_at=None if days is None else NOW + timedelta(days=days))
        return draft_rules.problems_of_rules(chosen, choice, SETS, NOW).get("closes_at", "")

    assert [each.frozen_days for each in draft_rules.applications_of(answers, SETS)] == [None, 7]
    assert "In the last 7 days they see only" in draft_rules.in_words(what(), frozen, closes, SETS[1:])
    assert "frozen_days" in draft_rules.problems_of_scoring(scoring(others=OthersRows.FROZEN), "VOC2012")
    assert "needs a closing date" in problem(frozen, None)
    assert "from the opening on" in problem(frozen, 5)
    assert problem(frozen, 8) == ""


def test_sets_of_one_name_or_without_the_task_are_refused() -> None:
    twice = (found("public", "test"), found("hidden", "test"))
    mixed = (found("hidden", "test"), found("public", "val", "COCO", (1,)))

    def problem(sets: tuple[FoundSet, ...], chosen: What) -> str:
        check = Check(sets=tuple(each.key for each in sets))
        return draft_rules.problems_of_check(check, chosen, sets).get("sets", "")

    assert "two sets are called test" in problem(twice, what())
    assert "do not mix" in problem(mixed, what())
    assert "no annotation for action" in problem(SETS[:1], what("action"))
    assert problem(SETS, what()) == ""
    assert proposed_sets(SETS) == SETS[1:]


@pytest.mark.parametrize("role", ["public", "hidden"])
def test_no_set_for_training_is_proposed_unless_there_is_no_other(role: str) -> None:
    sets = [found(role, name) for name in ("train", "day_train", "val", "test")]

    assert [each.name for each in proposed_sets(sets)] == ["val", "test"]
    assert [each.name for each in proposed_sets(sets[:1])] == ["train"]


def test_everything_is_said_in_plain_english() -> None:
    chosen = SETS[1:]
    closes = datetime(2027, 3, 31, 12, tzinfo=UTC)
    closed = rules(
        closes_at=closes, total=20, approves_teams=True, visibility=ChallengeVisibility.LINK, terms=TermsChoice.RESEARCH,
        image_licence="CC-BY-4.0",
    )  # fmt: skip

    said = draft_rules.in_words(
        what("detection", "segmentation"), scoring(OwnScores.MEAN, OthersRows.AT_CLOSE), closed, chosen
    )

    assert said == (
        "Birds is a challenge in detection and segmentation, with one leaderboard for each task. Participants submit results for"
        " test, whose annotation is hidden, and for val, whose annotation is public. The phase test opens"
        " with the challenge and closes on Wed 31 Mar 2027 12:00 UTC. A team, and each person in it, may have 2 results in 7 days"
        " and 20 results in total, per task. While it is open, a team sees only the mean of its own results, in tenths"
        " of a percent. Others see a result once the phase is over. Only people who have the link find the challenge, and a team is"
        " scored once you have approved it. Participants accept your terms; the images are under CC-BY-4.0."
    )
    assert (
        "There is no limit to results. Everybody can find the challenge, and any team is scored. There are no terms"
        in (draft_rules.in_words(what(tracks=Tracks.TWO), scoring(), rules(per_week=None), SETS[1:2]))
    )


def test_what_is_said_before_the_images_have_arrived_names_no_image_set() -> None:
    said = draft_rules.in_words(what(), scoring(), rules(), ())

    assert "Participants submit" not in said
    assert "each task. The phase opens with the challenge and has no closing date. A team, and" in said


def test_the_page_says_no_more_of_hidden_annotation_than_how_many_images_it_has() -> None:
    page = draft_rules.page_of(what(), scoring(), rules(annotation_licence="CC0-1.0"), SETS)

    assert "| val | 30 | 50 |" in page
    assert "| test | 30 | hidden |" in page
    assert "Detection of 2 classes: heron, ibis." in page
    assert "Annotations are under CC0-1.0." in page


def test_the_page_counts_difficult_objects_apart_as_other_pages_do() -> None:
    val = replace(SETS[1], classes=(ClassCount("heron", 20, 30, 8), ClassCount("ibis", 10, 10, 2)))

    page = draft_rules.page_of(what(), scoring(), rules(), (val,))

    assert "| val | 30 | 40 (50 with difficult ones) |" in page


def test_terms_name_the_licences() -> None:
    assert draft_rules.terms_of(rules(), "Birds") == ""
    assert draft_rules.terms_of(rules(terms=TermsChoice.OWN, terms_text="Be fair."), "Birds") == "Be fair."
    research = draft_rules.terms_of(rules(terms=TermsChoice.RESEARCH, image_licence="CC-BY-4.0"), "Birds")
    assert "By taking part in Birds" in research
    assert "images under CC-BY-4.0" in research


def test_a_challenge_opens_once_everything_required_is_done() -> None:
    done = Facts(
        "birds", tuple(Step), True, (), True, False, True, organisers=1, sends_mail=False, mail_lacks="None"
    )
    contradicted = Facts("birds", tuple(Step), True, ("x",), True, False, True, organisers=2, sends_mail=True)
    begun = Facts("birds", (Step.CHECK,), True, (), False, True, False, organisers=1, sends_mail=True)

    assert draft_rules.can_open(draft_rules.checklist_of(done))
    assert not draft_rules.can_open(draft_rules.checklist_of(contradicted))
    assert draft_rules.can_open(draft_rules.checklist_of(replace(done, invited=2)))
    lacking = draft_rules.checklist_of(replace(done, invited=2, not_invited=["ash@example.org"]))
    assert not draft_rules.can_open(lacking)
    assert "1 of 2 are not, such as ash@example.org." in "".join(each.text for each in lacking)
    left = [each for each in draft_rules.checklist_of(begun) if not each.is_done]
    assert [each.address for each in left] == [
        "/organise/new/birds/scoring",
        "/organise/challenges/birds#make",
        "/organise/new/birds/page",
        "/organise/challenges/birds/data#pictures",
        "/organise/challenges/birds/organisers",
    ]
    assert left[1].text == "A worker is at it."


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
        (["detection"], (ClassChoice("a b", "a b"), ClassChoice("car/truck", "car/truck")), {"class-2"}),
        (["detection"], (ClassChoice("a", "鳥" * 67), ClassChoice("鳥" * 67, "b")), {"class-1"}),
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


def test_classes_that_no_file_can_be_called_by_have_to_be_called_otherwise_unless_results_are_json() -> None:
    names = ("car", "car/truck", "鳥" * 67, "a\\b")
    classes = (*(ClassChoice(name, name) for name in names), ClassChoice("c/d", "c/d", is_ignored=True))
    sets = SETS[:1]

    found = problems_in_files(Report((), (), (), sets, ImageFacts(30), classes))
    of_json = tuple(replace(each, layout=COCO) for each in sets)

    assert found.keys() == {"class-2", "class-3", "class-4"}
    assert problems_in_files(Report((), (), (), of_json, ImageFacts(30), classes)) == {}


def test_names_of_classes_are_written_without_blanks_where_organisers_want_that() -> None:
    sent = {
        "found": ("traffic light", "old  cat"),
        "names": (" traffic light", "old  cat"),
        "positions": ("1", "2"),
    }

    rows = [
        ClassRows.model_validate({**sent, "ignored": ("old  cat",), **more})
        for more in ({}, {"plain": "true"})
    ]

    assert [[each.name for each in some.choices] for some in rows] == [
        ["traffic light", "old  cat"],
        ["traffic_light", "old  cat"],
    ]
