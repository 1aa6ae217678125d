"""The programs on the data page: each runs as it is, and what it writes is valid."""

import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

import heldout_scoring
from app.challenges.phase_files import snippets_of
from app.challenges.snippets import SNIPPETS, snippet
from heldout_scoring import Description
from heldout_scoring.validation import Validation
from tests.rules.test_examples import DATASETS, description

ADDRESS = "https://challenge.example.org/api/v1/challenges/oak/test/description"
FIRST = [  # a competition for each task of each kind of challenge
    (dataset, next(each.number for each in heldout_scoring.competitions(dataset) if each.task == task))
    for dataset in DATASETS
    for task in dict.fromkeys(each.task for each in heldout_scoring.competitions(dataset))
]


def written(phase: Description, competition: int, folder: Path) -> Validation:
    """Run the program for a competition as people do, and check what it writes."""
    info = heldout_scoring.competition_of(phase.dataset, competition)
    (folder / "description.json").write_text(phase.to_json())
    (folder / "write.py").write_text(snippet(phase, info, ADDRESS))
    subprocess.run([sys.executable, "write.py"], cwd=folder, check=True, timeout=60)
    archive = folder / "results.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder / "results", "results")
    return heldout_scoring.validate(archive, phase)


@pytest.mark.sampled
@pytest.mark.parametrize(("dataset", "competition"), FIRST)
def test_what_a_program_writes_is_valid(dataset: str, competition: int, tmp_path: Path) -> None:
    report = written(description(dataset), competition, tmp_path)

    assert report.problems == ()
    assert [found.number for found in report.competitions] == [competition]


def test_a_program_runs_whatever_characters_a_set_and_its_images_have(tmp_path: Path) -> None:
    odd = replace(description("VOC2012"), image_set="it's")

    report = written(odd, 3, tmp_path)

    assert report.problems == ()


def test_programs_are_alike_if_image_sets_differ_in_their_names_alone() -> None:
    phase, offered = description("VOC2012"), heldout_scoring.competitions("VOC2012")
    others = (
        (replace(phase, image_set="val2"), offered),
        (description("VOC2007"), offered),
        (phase, offered[1:]),
    )

    [one, renamed, of_another_year, of_any_data] = [
        {each.common for each in snippets_of(which, some, f"{ADDRESS}?{which.image_set}")}
        for which, some in ((phase, offered), *others)
    ]

    assert one == renamed
    assert one.isdisjoint(of_another_year)
    assert len(one - of_any_data) == 1


def test_every_task_has_a_program_and_a_page_shows_one_for_each() -> None:
    tasks = {each.task for dataset in DATASETS for each in heldout_scoring.competitions(dataset)}
    shown = snippets_of(description("VOC2012"), heldout_scoring.competitions("VOC2012"), ADDRESS)

    assert tasks == SNIPPETS.keys()
    assert [each.task for each in shown] == [
        "classification",
        "detection",
        "segmentation",
        "layout",
        "action",
    ]
    assert all(ADDRESS in each.code and not re.search(r"\$\w", each.code) for each in shown)
