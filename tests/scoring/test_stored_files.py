"""What earlier releases stored is read by this one, byte for byte and value for value."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from app.challenges.label_digests import LabelDigests, label_digests
from heldout_scoring import Description, GroundTruth, IntervalTable, Replicates, Result, Validation, evaluate
from heldout_scoring.analysis import ImageOutcomes
from heldout_scoring.analysis.errors import Diagnosis
from heldout_scoring.data.matches import open_matches, save_matches
from heldout_scoring.statistics.bootstrap import bootstrap, intervals_of
from heldout_scoring.stored import from_plain, to_plain
from tests.golden.stored_files import CASES, REPLICATES, everything
from tests.shared import ROOT

EXACT = 1e-12
STORED = sorted((ROOT / "tests" / "golden" / "stored").glob("*.zip"))
"""Each by the day of the commit that wrote it."""


@cache
def files_of(archive: Path) -> Mapping[str, bytes]:
    with ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def of_kind(archive: Path, kind: str) -> Iterator[tuple[str, bytes]]:
    """The files of a kind, by their cases."""
    found = files_of(archive).items()
    yield from (
        (name.removesuffix(f".{kind}"), content) for name, content in found if name.endswith(f".{kind}")
    )


each_release = pytest.mark.parametrize("archive", STORED, ids=[each.stem for each in STORED])


@each_release
def test_ground_truth_keeps_its_content_and_its_fingerprint(archive: Path) -> None:
    truths = dict(of_kind(archive, "truth"))

    assert len(truths) == len(CASES) + 1
    for case, content in truths.items():
        read = GroundTruth.of_bytes(content)
        assert GroundTruth.of(read.lists, read.tables).content == content
        assert case == "sent" or CASES[case]().truth.fingerprint == read.fingerprint


@each_release
def test_stored_ground_truth_gives_the_stored_result(archive: Path) -> None:
    results = dict(of_kind(archive, "result.json"))

    for name, case in CASES.items():
        truth = GroundTruth.of_bytes(files_of(archive)[f"{name}.truth"])
        stored = Result.from_json(results[name].decode())
        scored = evaluate(case().found, truth, protocol=case().protocol)
        assert (scored.receipt, scored.measure) == (stored.receipt, stored.measure)
        assert scored.headline == pytest.approx(stored.headline, abs=EXACT)
        for one, other in zip(scored.classes, stored.classes, strict=True):
            assert replace(one, value=None) == replace(other, value=None)
            assert one.value == pytest.approx(other.value, abs=EXACT)


@each_release
def test_results_of_each_release_are_read_as_those_of_the_last(archive: Path) -> None:
    for name, content in of_kind(STORED[-1], "result.json"):
        last, stored = (
            Result.from_json(each.decode()) for each in (content, files_of(archive)[f"{name}.result.json"])
        )
        assert stored == last
        assert stored.to_json() == content.decode()


@each_release
def test_files_of_arrays_are_written_again_byte_for_byte(archive: Path, tmp_path: Path) -> None:
    for _, content in of_kind(archive, "matches"):
        (tmp_path / "stored").write_bytes(content)
        save_matches(tmp_path / "again", *open_matches(tmp_path / "stored"))
        assert (tmp_path / "again").read_bytes() == content
    for _, content in of_kind(archive, "replicates"):
        assert Replicates.of_bytes(content).content == content
    for _, content in of_kind(archive, "image-outcomes"):
        assert ImageOutcomes.of_bytes(content).content == content


@each_release
def test_intervals_follow_from_the_stored_matches(archive: Path, tmp_path: Path) -> None:
    files = files_of(archive)
    for name in CASES:
        (tmp_path / "matches").write_bytes(files[f"{name}.matches"])
        given = (
            Result.from_json(files[f"{name}.result.json"].decode()),
            GroundTruth.of_bytes(files[f"{name}.truth"]),
        )
        options: dict[str, Any] = {"statistics": tmp_path / "matches", "replicates": REPLICATES}
        drawn, kept = bootstrap(*given, **options), Replicates.of_bytes(files[f"{name}.replicates"])
        assert (drawn.setup, drawn.draws, drawn.names) == (kept.setup, kept.draws, kept.names)
        np.testing.assert_allclose(drawn.values, kept.values, rtol=0, atol=1e-6)
        stored = from_plain(IntervalTable, json.loads(files[f"{name}.intervals.json"]))
        for row, other in zip(intervals_of(*given, **options).rows, stored.rows, strict=True):
            assert (row.low, row.high) == pytest.approx((other.low, other.high), abs=EXACT)


@each_release
def test_other_json_is_read_whole(archive: Path) -> None:
    read = 0
    for _, content in of_kind(archive, "description.json"):
        assert Description.from_json(content.decode()).to_json() == content.decode()
        read += 1
    for kind, cls in (("diagnosis.json", Diagnosis), ("label-digests.json", LabelDigests)):
        for _, content in of_kind(archive, kind):
            assert to_plain(from_plain(cls, json.loads(content))) == json.loads(content)
    for _, content in of_kind(archive, "validation.json"):
        assert Validation.from_json(json.loads(content)).as_json() == json.loads(content)
    assert read == len(CASES)


def test_digests_of_labels_stay() -> None:
    for name, content in of_kind(STORED[-1], "label-digests.json"):
        truth = GroundTruth.of_bytes(files_of(STORED[-1])[f"{name}.truth"])
        assert to_plain(label_digests(truth)) == json.loads(content)


def test_every_kind_that_is_stored_today_is_among_the_files() -> None:
    assert set(everything()) == set(files_of(STORED[-1]))
