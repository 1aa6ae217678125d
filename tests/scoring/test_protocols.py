from dataclasses import replace

import pytest

from scoring.measures.layout_matching import (
    judge_boxed_persons,
    judge_boxed_persons_of_2007,
    judge_parts,
    judge_persons,
    judge_persons_of_2008,
)
from scoring.measures.matching import judge_pascal, judge_pascal_2006
from scoring.measures.ranking import average_precision, average_precision_at_levels
from scoring.protocols import PROTOCOLS, default_protocol, spell
from scoring.truth.ground_truth import PARTS

YEARS = [f"voc{year}" for year in range(2006, 2013)]
CORRECTED = [f"voc{year}-corrected" for year in (2007, 2008, 2009)]
TENSORFLOW = ["pascal_voc_metrics", "weighted_pascal_voc_metrics", "open_images_metrics"]


def test_every_year_has_a_row_of_its_own_name_and_so_have_its_corrections_and_other_programs() -> None:
    assert list(PROTOCOLS) == [*YEARS, *CORRECTED, *TENSORFLOW]
    assert all(row.name == name for name, row in PROTOCOLS.items())
    assert len({row.title for row in PROTOCOLS.values()}) == len(PROTOCOLS)


def test_a_correction_differs_from_its_year_in_how_layouts_are_judged_and_nothing_else() -> None:
    judges = {
        "voc2007": (judge_boxed_persons_of_2007, judge_boxed_persons),
        "voc2008": (judge_persons_of_2008, judge_persons),
        "voc2009": (judge_persons_of_2008, judge_persons),
    }

    for year, (official, corrected) in judges.items():
        row = PROTOCOLS[f"{year}-corrected"]
        assert (PROTOCOLS[year].layout.judge, row.layout.judge) == (official, corrected)
        layout = replace(row.layout, judge=official)
        assert replace(row, name=year, title=PROTOCOLS[year].title, layout=layout) == PROTOCOLS[year]


def test_parts_of_persons_are_scored_one_by_one_from_2010_on() -> None:
    for year in YEARS:
        rules = PROTOCOLS[year].layout
        assert (rules.names == PARTS) == (rules.judge is judge_parts) == (year >= "voc2010")
        assert rules.boxed == (year <= "voc2007")


def test_every_recall_counts_from_2010_on() -> None:
    measures = {name: PROTOCOLS[name].detection.measure.of for name in YEARS}

    assert {name for name, measure in measures.items() if measure is average_precision} == {
        "voc2010",
        "voc2011",
        "voc2012",
    }
    assert measures["voc2009"] is average_precision_at_levels


def test_only_2006_has_its_own_rule_for_difficult_objects() -> None:
    judges = {name: PROTOCOLS[name].detection.judge for name in YEARS}

    assert judges.pop("voc2006") is judge_pascal_2006
    assert set(judges.values()) == {judge_pascal}


@pytest.mark.parametrize(
    ("dataset", "protocol"), [("VOC2006", "voc2006"), ("VOC2012", "voc2012"), ("sample", "voc2012")]
)
def test_a_dataset_is_scored_by_its_own_year_s_protocol_or_the_last(dataset: str, protocol: str) -> None:
    assert default_protocol(dataset) == protocol


def test_rules_are_spelled_with_the_names_of_their_functions() -> None:
    assert spell(PROTOCOLS["voc2007"].detection) == (
        "DetectionRules(judge=judge_pascal, overlap=overlap_of_pixels, least=0.5, "
        "measure=RankingMeasure(name='Average precision at eleven recalls', of=average_precision_at_levels), "
        "average=mean_of_classes, seek=seek_all_but_difficult, pool=None, beside=seek_everything)"
    )
