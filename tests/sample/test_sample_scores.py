"""The baselines scored end to end: every archive is valid, and a better baseline scores higher."""

from itertools import pairwise
from pathlib import Path

import pytest

from heldout_scoring import GroundTruth, Result, evaluate, read_tree, validate
from sample import Baseline, draw_baselines, draw_challenge

SCORED_ALIKE = (1, 2, 5, 6, 9, 10)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[GroundTruth, tuple[Baseline, ...]]:
    folder = tmp_path_factory.mktemp("sample")
    tree = draw_challenge(folder, images=240).tree
    return read_tree(tree, "test"), draw_baselines(tree, folder / "baselines", image_set="test")


def archives(baselines: tuple[Baseline, ...], competition: int) -> list[Path]:
    return [baseline.archive for baseline in baselines if baseline.competition == competition]


@pytest.mark.parametrize("competition", SCORED_ALIKE)
def test_every_baseline_is_valid_without_notes(
    drawn: tuple[GroundTruth, tuple[Baseline, ...]], competition: int
) -> None:
    truth, baselines = drawn

    for archive in archives(baselines, competition):
        validation = validate(archive, truth.description, competitions=(competition,))

        assert validation.valid
        assert validation.notes == ()


@pytest.mark.parametrize("competition", SCORED_ALIKE)
@pytest.mark.parametrize("protocol", ["voc2006", "voc2007", "voc2012"])
def test_larger_baselines_score_higher(
    drawn: tuple[GroundTruth, tuple[Baseline, ...]], competition: int, protocol: str
) -> None:
    truth, baselines = drawn

    reports: list[Result] = [
        evaluate(archive, truth, competition=competition, protocol=protocol)
        for archive in archives(baselines, competition)
    ]

    headlines = [report.headline or 0.0 for report in reports]
    assert len(headlines) == 3
    assert all(better > worse for better, worse in pairwise(headlines))
    assert 0.2 < headlines[-1] < headlines[0] < 1


@pytest.mark.parametrize("competition", [7, 8])
def test_layouts_are_valid_and_larger_baselines_score_higher(
    drawn: tuple[GroundTruth, tuple[Baseline, ...]], competition: int
) -> None:
    truth, baselines = drawn
    sent = archives(baselines, competition)

    validations = [validate(each, truth.description, competitions=(competition,)) for each in sent]
    assert [validation.problems for validation in validations] == [(), (), ()]
    assert all(note.code == "missing-predictions" for validation in validations for note in validation.notes)

    for protocol in ("voc2008-corrected", "voc2012"):
        little, middling, large = (
            evaluate(each, truth, competition=competition, protocol=protocol).headline or 0.0 for each in sent
        )
        assert 1 > little > middling > large > 0
