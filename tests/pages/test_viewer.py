"""Annotation and predictions over pictures, and lists of example images, for those who may see them."""

import io
import math
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from PIL import Image
from sqlalchemy import Text, and_, cast, delete, func, or_, select, update
from starlette.testclient import TestClient

import sample
from app.boards.comparisons import ImageDifference, PairedBootstrap, comparison
from app.boards.rows import BoardKey
from app.core.access import Actor
from app.images import differing
from app.images.lists import AWAITED, NOT_COMPUTED, NOT_HARD
from app.images.overlays import (
    EXAMPLES,
    HARD,
    OF_RUNS,
    RUN,
    TRUTH,
    draw_next,
    examples,
    hard_images,
    request,
    run_overlay,
)
from app.images.viewer import BEING_DRAWN, NOT_DRAWN
from app.intake.importing import TreeImport, import_tree
from app.jobs import queue
from app.models import Artefact, Challenge, Disclosure, GroundTruth, Method, Queue, Result, Run
from app.operations.sampling import SHORTEST_DESCRIPTION, submit
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.picture_trees import deliver
from tests.pages.test_pictures import organiser_of
from tests.second_factors import token_of_admin
from tests.working import do_all

CHALLENGE = "drawn"
METHODS = {1: "OwlNet", 3: "SlidingWindow", 5: "GardenSet", 7: "StrideNet", 9: "StrideNet"}


@dataclass(frozen=True, slots=True)
class Scene:
    """A challenge with drawn pictures and a method on each board; runs: by competition."""

    image: str
    runs: Mapping[int, int]
    phases: Mapping[str, int]
    detections: Path


@pytest.fixture(scope="module")
def scene(app: FastAPI, platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("drawn")
    drawn = sample.draw_challenge(folder, images=12)
    phases = {
        image_set: import_tree(
            platform, TreeImport(drawn.tree, CHALLENGE, image_set, protocol="voc2012", disclosure=disclosure)
        ).phase_id
        for image_set, disclosure in (("val", Disclosure.FULL), ("test", Disclosure.CLASSES))
    }
    with platform.transaction() as session:
        session.execute(update(Challenge).values(shortest_description=SHORTEST_DESCRIPTION))
    token = token_of_admin(platform, "drawer@example.org", "Drawer")
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"})
    results = {
        image_set: {
            each.competition: each
            for each in sample.draw_results(drawn.tree, folder / "results", image_set=image_set)
            if METHODS.get(each.competition) == each.method.name
        }
        for image_set in phases
    }
    for each in (*results["val"].values(), results["test"][3]):
        submit(client, CHALLENGE, (each,))
    do_all(platform, Queue.RUNS)
    deliver(platform)
    detections = results["val"][3].archive
    return Scene(drawn.images["val"][0], runs_of(platform, phases["val"]), phases, detections)


def runs_of(platform: Platform, phase_id: int) -> dict[int, int]:
    with platform.transaction() as session:
        statement = select(Result.competition, Run.id).join(Run, Run.result_id == Result.id)
        return dict(session.execute(statement.where(Result.phase_id == phase_id)).all())


def view(client: TestClient, image: str, **choice: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/challenges/{CHALLENGE}/val/images/{image}", params=choice)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


@pytest.mark.parametrize("competition", METHODS)
def test_every_task_is_drawn_over_its_pictures(competition: int, scene: Scene, browser: Browser) -> None:
    page = view(browser(), scene.image, competition=competition)
    html = browser().get(f"/pictures/{CHALLENGE}/val/{scene.image}", params={"competition": competition})

    truth, method = page["panels"]
    assert (truth["title"], method["title"]) == ("Ground truth", METHODS[competition])
    assert method["note"] is None
    assert (method["labels"] is not None) == (competition == 5)
    assert bool(method["lines"]) == (competition != 5)
    assert html.text.count('class="panel"') == 2


def test_detections_are_drawn_at_the_positions_in_the_prediction_file(scene: Scene, browser: Browser) -> None:
    everything = view(browser(), scene.image, competition=3, threshold=-1)["panels"][1]
    some = view(browser(), scene.image, competition=3, threshold=0.5)["panels"][1]

    lines = [line.split() for line in detections_in(scene.detections) if line.startswith(scene.image)]
    drawn = sorted(round(mark["x"] + 1, 1) for mark in everything["marks"])
    assert drawn == sorted(round(float(line[2]), 1) for line in lines)
    assert {mark["is_shown"] for mark in everything["marks"]} == {True}
    assert all(mark["is_shown"] == (mark["score"] >= 0.5) for mark in some["marks"])
    outcomes = {line["outcome"] for line in everything["lines"]}
    assert outcomes <= {"true positive", "false positive", "ignored"}


def detections_in(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        files = [tar.extractfile(member) for member in tar.getmembers() if "_det_" in member.name]
        return [line for file in files if file for line in file.read().decode().splitlines()]


def test_label_images_keep_the_colours_of_the_kits(scene: Scene, browser: Browser) -> None:
    page = view(browser(), scene.image, competition=5)
    for panel in page["panels"]:
        labels = Image.open(io.BytesIO(browser().get(panel["labels"]).content))
        assert labels.size == (page["picture"]["width"], page["picture"]["height"])
        assert labels.info["transparency"] == 0
        assert (labels.getpalette() or [])[:6] == [0, 0, 0, 128, 0, 0]
    assert page["legend"][0]["colour"] == "#800000"
    nothing = browser().get(f"/pictures/{CHALLENGE}/val/{scene.image}/labels.png?run=999999")
    assert nothing.status_code == 404


def test_lists_of_examples_show_pictures_of_a_result(scene: Scene, browser: Browser) -> None:
    for competition, run in scene.runs.items():
        page = browser().get(f"/api/v1/runs/{run}/images").json()
        html = browser().get(f"/runs/{run}/images")
        assert page["class_name"] in html.text
        assert any(one["examples"] for one in page["lists"]), competition
    page = browser().get(f"/api/v1/runs/{scene.runs[3]}/images?class_name=person").json()
    assert [one["title"] for one in page["lists"]] == [
        "True positives", "Near misses", "Other false positives", "Missed objects",
    ]  # fmt: skip
    near = page["lists"][1]["examples"]
    assert all(0.1 <= each["example"]["iou"] < 0.5 for each in near)


def test_the_page_of_a_method_shows_samples_of_the_open_phase_alone(
    scene: Scene, platform: Platform, browser: Browser
) -> None:
    [held_out] = runs_of(platform, scene.phases["test"]).values()
    with platform.transaction() as session:
        request(session, scene.phases["val"])
    deliver(platform)

    page = browser().get(f"/methods/{method_of(platform, scene.runs[3])}").text

    assert '<span class="rank-of">#1 <span class="quiet">of 1</span></span>' in page
    assert f'href="/runs/{scene.runs[3]}/images"' in page
    assert f"/pictures/{CHALLENGE}/val/" in page
    assert f"/pictures/{CHALLENGE}/test/" not in page
    assert f"/runs/{held_out}" not in page


def test_images_in_which_methods_differ_show_what_counts_where_annotation_may_be_seen(
    scene: Scene, platform: Platform
) -> None:
    method = method_of(platform, scene.runs[3])
    difference = ImageDifference(scene.image, 1, (0,), (1,))
    found = PairedBootstrap(1000, 1, False, (), (), (difference,))
    views = {
        image_set: comparison(platform, Actor(), BoardKey(CHALLENGE, image_set, 3), [method])
        for image_set in scene.phases
    }

    drawn = {
        image_set: differing.images(platform, Actor(), replace(view, statistics=found))
        for image_set, view in views.items()
    }

    [shown] = drawn["val"].images
    assert (shown.picture.name, drawn["val"].lacks_predictions, drawn["val"].legend) == (
        scene.image,
        False,
        (),
    )
    assert {mark.kind for mark in shown.truth.marks} <= {"truth", "truth hard"}
    [source] = shown.of_methods
    assert source is not None
    assert source.marks
    assert {mark.kind for mark in source.marks} <= {"hit", "false", "other"}
    overlay = run_overlay(platform, scene.runs[3], shown.picture.position, scene.image)
    assert overlay is not None
    counted = [each for each in overlay.predictions if each.is_counted]
    assert [mark.confidence for mark in source.marks] == [each.confidence for each in counted]
    assert len(counted) < len(overlay.predictions)
    assert drawn["test"] == differing.DifferingImages()


def method_of(platform: Platform, run_id: int) -> int:
    with platform.transaction() as session:
        found = session.scalar(select(Result.method_id).join(Run.result).where(Run.id == run_id))
    assert found is not None
    return found


def test_a_board_lists_easy_and_hard_images(scene: Scene, browser: Browser) -> None:
    page = browser().get(f"/api/v1/leaderboards/{CHALLENGE}/val/3/images?class_name=person").json()
    html = browser().get(f"/leaderboards/{CHALLENGE}/val/3/images")

    assert [one["title"] for one in page["lists"]] == [
        "Easiest images",
        "Hardest images",
        "Most confusing images",
    ]
    assert page["lists"][0]["examples"][0]["picture"]["version"]
    assert "Easiest images" in html.text
    assert "no public results" in browser().get(f"/leaderboards/{CHALLENGE}/val/4/images").text


@pytest.mark.parametrize(
    ("competition", "kind", "most"), [(5, "median IoU", 1.0), (9, "median rank", math.inf)]
)
def test_easy_and_hard_images_are_listed_for_segmentation_and_actions_too(
    scene: Scene, browser: Browser, competition: int, kind: str, most: float
) -> None:
    address = f"/leaderboards/{CHALLENGE}/val/{competition}/images"
    page = browser().get(f"/api/v1{address}").json()
    easiest, hardest = ([each["example"] for each in one["examples"]] for one in page["lists"][:2])

    assert easiest
    assert {each["kind"] for each in easiest + hardest} == {kind}
    assert all(0 <= each["value"] <= most for each in easiest + hardest)
    shown = "%g" if kind == "median rank" else "%.3f"
    assert f"{kind} {shown % easiest[0]['value']}" in browser().get(address).text


def test_a_board_of_person_layout_says_why_it_lists_no_hard_images(scene: Scene, browser: Browser) -> None:
    address = f"/leaderboards/{CHALLENGE}/val/7/images"

    assert browser().get(f"/api/v1{address}").json()["missing"] == NOT_HARD
    assert "its own true and false positives" in browser().get(address).text


def test_a_challenge_shows_a_picture_for_each_task(scene: Scene, browser: Browser) -> None:
    page = browser().get(f"/challenges/{CHALLENGE}").text

    strip = page.partition('strip"')[2].partition("</ul>")[0]
    assert strip.count("thumbnail.jpg") == len(METHODS)
    assert f"/pictures/{CHALLENGE}/test" not in page


def note_of(client: TestClient, scene: Scene, run: int) -> Any:
    return view(client, scene.image, competition=1, run=run)["panels"][1]["note"]


def test_a_run_that_cannot_be_drawn_is_reported_and_can_be_retried(
    scene: Scene, platform: Platform, browser: Browser
) -> None:
    run, phase = scene.runs[1], scene.phases["val"]
    poor = replace(platform, settings=platform.settings.model_copy(update={"delivery_seconds": 0}))
    with platform.transaction() as session:
        session.execute(delete(Artefact).where(Artefact.kind == RUN, Artefact.subject == str(run)))
        session.execute(delete(Artefact).where(Artefact.kind == HARD))

    draw_next(poor, {"phase_id": phase})
    draw_next(poor, {"phase_id": phase})

    assert note_of(browser(), scene, run) == BEING_DRAWN
    deliver(platform)
    assert note_of(browser(), scene, run) == NOT_DRAWN
    assert run_overlay(platform, run, 0, scene.image) is None
    assert examples(platform, run) == ()
    assert hard_images(platform, phase, 3) == ()
    with platform.transaction() as session:
        session.execute(delete(Artefact).where(Artefact.kind.in_((RUN, HARD))))
        request(session, phase)
        request(session, 10**9)
    deliver(platform)
    assert run_overlay(platform, run, 0, scene.image) is not None


def test_a_page_promises_example_images_only_while_a_job_is_queued(
    scene: Scene, platform: Platform, browser: Browser
) -> None:
    run, addresses = (
        scene.runs[1],
        (f"/api/v1/runs/{scene.runs[1]}/images", f"/api/v1/leaderboards/{CHALLENGE}/val/1/images"),
    )
    with platform.transaction() as session:
        session.execute(delete(Artefact).where(Artefact.kind.in_((EXAMPLES, HARD))))
    given_up = [browser().get(each).json()["missing"] for each in addresses]
    with platform.transaction() as session:
        for competition in scene.runs:  # other tests use them as well
            queue.add_board(session, scene.phases["val"], competition)
    awaited = [browser().get(each).json()["missing"] for each in addresses]
    with platform.transaction() as session:
        session.execute(delete(Artefact).where(Artefact.kind == RUN))
    deliver(platform)

    assert given_up == [NOT_COMPUTED] * 2
    assert awaited == [AWAITED] * 2
    assert [browser().get(each).json()["missing"] for each in addresses] == [None] * 2
    assert examples(platform, run)


@pytest.mark.sampled
def test_a_method_that_becomes_private_is_no_longer_drawn_for_others(
    scene: Scene, platform: Platform, browser: Browser
) -> None:
    run, images = scene.runs[9], f"/api/v1/runs/{scene.runs[9]}/images"
    with platform.transaction() as session:
        method = update(Method).where(Method.name == METHODS[9])
        session.execute(method.values(public_at=None))

    titles = [panel["title"] for panel in view(browser(), scene.image, competition=9, run=run)["panels"]]
    status = browser().get(images).status_code
    with platform.transaction() as session:
        session.execute(method.values(public_at=func.now()))

    assert METHODS[9] not in titles
    assert status == 404
    assert browser().get(images).status_code == 200


def test_hidden_annotation_is_drawn_only_after_an_organiser_enables_it(
    scene: Scene, platform: Platform, browser: Browser
) -> None:
    organiser, visitor, phase = organiser_of(platform, browser, CHALLENGE), browser(), scene.phases["test"]
    run = runs_of(platform, phase)[3]
    listed = organiser.get(f"/api/v1/challenges/{CHALLENGE}/test/images").json()
    image = listed["images"][0]["name"]
    address = f"/api/v1/challenges/{CHALLENGE}/test/images/{image}"
    lists = (f"/api/v1/runs/{run}/images", f"/api/v1/leaderboards/{CHALLENGE}/test/3/images")
    assert kept(platform, phase) == set()
    assert organiser.get(address).json()["panels"] == []
    assert "held out" in organiser.get(address).json()["withheld"]
    assert [visitor.get(each).status_code for each in (address, *lists)] == [404, 403, 403]

    organise = f"/organise/phases/{phase}/pictures"
    organiser.post(organise, data={"is_public": "true", "draws_truth": "true", "reason": "To look at it"})
    deliver(platform)

    assert TRUTH in kept(platform, phase)
    assert len(organiser.get(address).json()["panels"]) == 2
    assert [organiser.get(each).status_code for each in lists] == [200, 200]
    seen = visitor.get(address).json()
    assert (seen["panels"], seen["competitions"], seen["runs"]) == ([], [], [])
    assert [visitor.get(each).status_code for each in lists] == [403, 403]
    labels = f"/pictures/{CHALLENGE}/test/{image}/labels.png"
    for source in (f"run={run}", *(f"truth={number}" for number in range(20))):
        assert visitor.get(f"{labels}?{source}").status_code == 404

    organiser.post(organise, data={"is_public": "true", "reason": "Looked at"})
    deliver(platform)
    assert kept(platform, phase) == set()
    organiser.post(organise, data={"reason": "As it was before"})


def kept(platform: Platform, phase_id: int) -> set[str]:
    """The kinds of stored artefacts that reveal the annotation of a phase."""
    truths = select(cast(GroundTruth.id, Text)).where(GroundTruth.phase_id == phase_id)
    runs = (
        select(cast(Run.id, Text)).join(Result, Run.result_id == Result.id).where(Result.phase_id == phase_id)
    )
    statement = select(Artefact.kind).where(
        or_(
            and_(Artefact.kind == TRUTH, Artefact.subject.in_(truths)),
            and_(Artefact.kind.in_(OF_RUNS), Artefact.subject.in_(runs)),
            and_(Artefact.kind == HARD, Artefact.subject.startswith(f"{phase_id}/")),
        )
    )
    with platform.transaction() as session:
        return set(session.scalars(statement))
