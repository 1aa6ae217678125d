from dataclasses import replace

import pytest

from heldout_scoring.competitions import CHALLENGES
from heldout_scoring.data.annotations import PARTS
from heldout_scoring.metrics.layouts import (
    match_boxed_persons_2007,
    match_boxed_persons_2007_corrected,
    match_parts,
    match_persons_2008,
    match_persons_2008_corrected,
)
from heldout_scoring.metrics.matching import match_pascal, match_pascal_2006
from heldout_scoring.metrics.ranking import average_precision, average_precision_11_points
from heldout_scoring.protocols import PROTOCOLS, TASKS, Protocol, default_protocol, protocol_of, spell
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.layout import LAYOUT
from heldout_scoring.tasks.task import TaskRules

YEARS = [f"voc{year}" for year in range(2006, 2013)]
CORRECTED = [f"voc{year}-corrected" for year in (2007, 2008, 2009)]
TENSORFLOW = [
    "pascal_voc_detection_metrics",
    "weighted_pascal_voc_detection_metrics",
    "oid_V2_detection_metrics",
    "oid_challenge_detection_metrics",
]
DOCUMENTED = [f"{name}-documented" for name in TENSORFLOW]
ALIASES = ["pascal_voc_metrics", "weighted_pascal_voc_metrics", "open_images_metrics"]


def test_years_corrections_and_other_programs_have_named_protocols() -> None:
    rows = {name: row for name, row in PROTOCOLS.items() if name not in ALIASES}

    assert list(rows) == [*YEARS, *CORRECTED, *TENSORFLOW, *DOCUMENTED, "coco", "lvis"]
    assert all(row.name == name for name, row in rows.items())
    assert len({row.title for row in rows.values()}) == len(rows)


def test_a_correction_differs_from_its_year_only_in_matching_layouts() -> None:
    judges = {
        "voc2007": (match_boxed_persons_2007, match_boxed_persons_2007_corrected),
        "voc2008": (match_persons_2008, match_persons_2008_corrected),
        "voc2009": (match_persons_2008, match_persons_2008_corrected),
    }

    for year, (official, corrected) in judges.items():
        row = PROTOCOLS[f"{year}-corrected"]
        assert (PROTOCOLS[year].rules_of(LAYOUT).match, row.rules_of(LAYOUT).match) == (official, corrected)
        layout = replace(row.rules_of(LAYOUT), match=official)
        assert row.with_rules(year, PROTOCOLS[year].title, TaskRules(LAYOUT, layout)) == PROTOCOLS[year]


def test_parts_of_persons_are_scored_separately_from_2010_on() -> None:
    for year in YEARS:
        rules = PROTOCOLS[year].rules_of(LAYOUT)
        assert (rules.names == PARTS) == (rules.match is match_parts) == (year >= "voc2010")
        assert rules.boxed == (year <= "voc2007")


def test_every_recall_counts_from_2010_on() -> None:
    measures = {name: PROTOCOLS[name].rules_of(DETECTION).measure.of for name in YEARS}

    assert {name for name, measure in measures.items() if measure is average_precision} == {
        "voc2010",
        "voc2011",
        "voc2012",
    }
    assert measures["voc2009"] is average_precision_11_points


def test_only_2006_has_its_own_rule_for_difficult_objects() -> None:
    judges = {name: PROTOCOLS[name].rules_of(DETECTION).match for name in YEARS}

    assert judges.pop("voc2006") is match_pascal_2006
    assert set(judges.values()) == {match_pascal}


@pytest.mark.parametrize(("dataset", "protocol"), [("VOC2006", "voc2006"), ("VOC2012", "voc2012")])
def test_a_dataset_is_scored_by_the_protocol_of_its_year(dataset: str, protocol: str) -> None:
    assert default_protocol(dataset) == protocol


def test_a_dataset_without_a_year_has_no_default_protocol() -> None:
    with pytest.raises(
        LookupError, match="the dataset 'sample' has no protocol of its own; name one of voc2006, "
    ):
        default_protocol("sample")


def test_a_protocol_is_given_by_name_or_as_an_object() -> None:
    assert protocol_of("voc2012") is protocol_of(PROTOCOLS["voc2012"]) is PROTOCOLS["voc2012"]
    with pytest.raises(LookupError, match="no protocol is called 'voc2013'; there are voc2006, "):
        protocol_of("voc2013")


def test_rules_are_written_with_the_names_of_their_functions() -> None:
    assert spell(PROTOCOLS["voc2007"].rules_of(DETECTION)) == (
        "DetectionRules(match=match_pascal, iou=iou_inclusive, iou_threshold=0.5, "
        "measure=RankingMeasure(name='11-point average precision', of=average_precision_11_points), "
        "average=mean_of_classes, select_positives=positives_without_difficult, pool=None, second_table=all_objects_positive, absent_is_empty=False, "
        "convention=<BoxConvention.INCLUSIVE: 'inclusive'>)"
    )


def test_every_competition_has_a_task_that_every_protocol_of_its_dataset_scores() -> None:
    tasks = {info.task for infos in CHALLENGES.values() for info in infos}

    of_coco = {each.task.name for name in ("coco", "lvis") for each in PROTOCOLS[name].tasks}
    assert tasks == TASKS.keys()
    assert all({each.task.name for each in PROTOCOLS[year].tasks} == tasks - of_coco for year in YEARS)
    assert (default_protocol("COCO"), default_protocol("LVIS")) == ("coco", "lvis")


def test_asking_for_a_task_that_a_protocol_does_not_score_is_explained() -> None:
    row = Protocol("boxes", "Boxes only", PROTOCOLS["voc2012"].tasks[1:2])

    with pytest.raises(
        LookupError, match="protocol 'boxes' has no rules for layout; it has rules for detection"
    ):
        row.rules_of(LAYOUT)


def test_a_year_with_another_iou_threshold_is_one_definition() -> None:
    strict = replace(PROTOCOLS["voc2012"].rules_of(DETECTION), iou_threshold=0.75)

    row = PROTOCOLS["voc2012"].with_rules("own2026", "Our challenge", TaskRules(DETECTION, strict))

    assert spell(row.rules_of(DETECTION)).count("iou_threshold=0.75") == 1
    assert row.rules_of(LAYOUT) == PROTOCOLS["voc2012"].rules_of(LAYOUT)
    assert [each.task for each in row.tasks] == [each.task for each in PROTOCOLS["voc2012"].tasks]
