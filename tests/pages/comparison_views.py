"""Comparisons as the page receives them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.boards.comparisons import (
    Candidate,
    ClassDifferences,
    ComparedMethod,
    ComparisonView,
    Difference,
    Drawings,
    ImageDifference,
    PairDifference,
    PairedBootstrap,
    differences_figure,
    scores_figure,
)
from app.images.differing import DifferingImage, DifferingImages, DrawnSource
from app.images.pictures import PictureView
from app.images.viewer import Mark, legend
from app.results.details import curves_figure, errors_figure
from tests.pages.drawn import CLASSES, EVIL, curves
from tests.pages.result_views import errors
from tests.pages.views import values

DIFFERENCE = Difference(0.031, 0.01, 0.052, 0.0004, 0.008)
UNSURE = Difference(-0.001, -0.02, 0.018, 0.9, 1.0)
NOTHING = Difference(None)


def method(number: int) -> ComparedMethod:
    return ComparedMethod(
        id=number,
        name=f"Method_{number}_{EVIL}",
        title=EVIL if number == 1 else "",
        team=EVIL,
        submission=number,
        run=number,
        mean=0.648,
        low=0.631,
        high=0.662,
        classes=values(0.9 - number / 10),
        errors=errors(),
    )


def comparison(count: int = 3, **changes: Any) -> ComparisonView:
    others = max(count - 1, 0)
    rows = tuple(ClassDifferences(name, (DIFFERENCE, UNSURE, NOTHING)[:others]) for name in CLASSES)
    statistics = PairedBootstrap(
        1000,
        45,
        count % 2 == 1,
        (PairDifference(0, 1, DIFFERENCE), PairDifference(0, others, UNSURE)),
        rows,
        (ImageDifference("000001", 7, tuple(range(count)), tuple(range(count))),),
    )
    view = ComparisonView(
        challenge="VOC2007",
        challenge_title=EVIL,
        image_set="test",
        competition=3,
        title="Detection",
        own_data=False,
        measure="AP",
        methods=tuple(method(number) for number in range(1, count + 1)),
        classes=tuple(CLASSES),
        statistics=statistics,
        is_computed=True,
        obstacle=None,
        withheld=None,
        beyond_public=True,
        candidates=tuple(Candidate(number, EVIL, 0.5 if number else None) for number in range(9)),
        has_more=True,
    )
    return replace(view, **changes)


def drawings(view: ComparisonView) -> Drawings:
    return Drawings(
        "car",
        curves_figure([(each.name, 0.5, curves()[0]) for each in view.methods]),
        scores_figure(view),
        differences_figure(view),
        errors_figure([(each.name, each.errors) for each in view.methods]),
    )


def images(view: ComparisonView) -> DifferingImages:
    """Images with boxes, with labels, and without a picture, of which one method is not drawn yet."""
    assert view.statistics is not None
    difference = view.statistics.images[0]
    picture = PictureView(0, EVIL, 500, 375, "v1", None)
    marks = DrawnSource((Mark("hit", 1, 2, 30, 40, EVIL, 0.5), Mark("false", 1, 2, 30, 40, EVIL, 0.4)))
    labels = DrawnSource(labels=f"/labels.png?run={EVIL}")
    missing = replace(picture, width=None, height=None, version=None, problem=EVIL)
    return DifferingImages(
        (
            DifferingImage(difference, picture, marks, (marks, labels)),
            DifferingImage(difference, missing, DrawnSource(), (DrawnSource(), None)),
        )
    )


def of_comparisons() -> Iterator[tuple[str, dict[str, Any]]]:
    hidden = comparison(2, statistics=None, withheld=EVIL, classes=(), beyond_public=False)
    for view in (
        comparison(),
        comparison(2, draws_images=True),
        comparison(0, classes=(), statistics=None),
        comparison(1, statistics=None, candidates=()),
        comparison(statistics=None, is_computed=False),
        comparison(statistics=None, obstacle=EVIL),
        hidden,
    ):
        yield (
            "comparisons/comparison.html",
            {"comparison": view, "drawn": drawings(view), "images": DifferingImages()},
        )
    view = comparison(2, draws_images=True)
    for shown in (images(view), replace(images(view), legend=legend([EVIL]))):
        yield "comparisons/comparison.html", {"comparison": view, "drawn": drawings(view), "images": shown}
