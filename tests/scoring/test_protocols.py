import pytest

from scoring.matching import judge_pascal, judge_pascal_2006
from scoring.protocols import PROTOCOLS, default_protocol, spell
from scoring.ranking import average_precision, average_precision_at_levels


def test_every_year_has_a_row_of_its_own_name() -> None:
    assert list(PROTOCOLS) == [f"voc{year}" for year in range(2006, 2013)]
    assert all(row.name == name for name, row in PROTOCOLS.items())


def test_every_recall_counts_from_2010_on() -> None:
    measures = {name: row.detection.measure.of for name, row in PROTOCOLS.items()}

    assert {name for name, measure in measures.items() if measure is average_precision} == {
        "voc2010",
        "voc2011",
        "voc2012",
    }
    assert measures["voc2009"] is average_precision_at_levels


def test_only_2006_has_its_own_rule_for_difficult_objects() -> None:
    judges = {name: row.detection.judge for name, row in PROTOCOLS.items()}

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
        "average=mean_of_classes)"
    )
