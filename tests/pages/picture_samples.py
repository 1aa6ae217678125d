"""The pages of pictures with what they are rendered with."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.gallery.schemas import PicturesPage
from app.image_lists.schemas import ExampleList, ExamplesPage, ShownExample
from app.models import ImageMode
from app.overlays.schemas import DrawnRun, ExampleView
from app.pictures.schemas import PictureView, SourceView
from app.viewer.rules import BEING_DRAWN, Line, Mark, Panel, legend
from app.viewer.schemas import OfferedCompetition, OfferedRun, ViewerPage
from tests.pages.drawn import EVIL
from tests.pages.views import PHASE, VAL

Sample = tuple[str, dict[str, Any]]

PICTURE = PictureView(3, "2008_000008", 500, 375, "0123456789ab", None)
UNMADE = PictureView(4, EVIL, None, None, None, None)
REFUSED = replace(UNMADE, problem=EVIL)
SOURCE = SourceView(ImageMode.LINK, EVIL, False, False, EVIL, 3, 1, 1)
RUN = DrawnRun(7, 3, EVIL, 4, 1, 0.5)


def of_pictures() -> Iterator[Sample]:
    """Lists of pictures, the viewer, images to look at first."""
    page = PicturesPage(VAL, (PICTURE, UNMADE, REFUSED), 3, 1, 1, EVIL, 3, 4, True, None)
    yield "gallery/pictures.html", {"page": page, "form": {}, "problems": {}}
    hidden = replace(page, phase=PHASE, is_public=False, source=SOURCE, previous=None)
    typed = {"is_public": True, "draws_truth": True, "reason": EVIL}
    yield "gallery/pictures.html", {"page": hidden, "form": typed, "problems": {"reason": EVIL}}
    copied = replace(SOURCE, mode=ImageMode.COPY, problem=None, refused=0)
    yield "gallery/pictures.html", {"page": replace(page, source=copied), "form": {}, "problems": {}}
    shown = replace(page, phase=PHASE, pictures=(), made=3, being_made=0, next=None)
    yield "gallery/pictures.html", {"page": shown, "form": {}, "problems": {}}
    yield from _of_viewer()
    yield from _of_lists()


def _of_viewer() -> Iterator[Sample]:
    marks = (Mark("truth", 1, 2, 3, 4, EVIL), Mark("false part", 1, 2, 3, 4, EVIL, 0.5, False))
    lines = (Line(EVIL, None, EVIL), Line(EVIL, 0.5, "true positive", False))
    panels = (
        Panel("Ground truth", None, marks, lines[:1], None, None),
        Panel(EVIL, 4, marks, lines[1:], None, EVIL),
        Panel(EVIL, 4, (), (), None, BEING_DRAWN),
    )
    page = ViewerPage(
        phase=VAL,
        picture=PICTURE,
        before=EVIL,
        after="b",
        withheld=None,
        competitions=(OfferedCompetition(3, EVIL, True), OfferedCompetition(1, EVIL, False)),
        runs=(OfferedRun(RUN, True), OfferedRun(RUN, False)),
        panels=panels,
        legend=(),
        threshold=0.5,
        lowest=0.1,
        highest=0.9,
    )
    yield "viewer/viewer.html", {"page": page, "query": "competition=3"}
    coloured = replace(
        page,
        panels=(Panel(EVIL, None, (), (), "/pictures/a/b/c/labels.png?run=1", None),),
        legend=legend(["aeroplane"]),
        threshold=None,
        lowest=None,
        highest=None,
    )
    yield "viewer/viewer.html", {"page": coloured, "query": ""}
    yield "viewer/viewer.html", {"page": replace(page, picture=UNMADE), "query": ""}
    nothing = replace(page, runs=(), panels=(), before=None, after=None)
    yield "viewer/viewer.html", {"page": nothing, "query": ""}
    yield "viewer/viewer.html", {"page": replace(nothing, picture=UNMADE, withheld=EVIL), "query": ""}


def _of_lists() -> Iterator[Sample]:
    examples = (
        ShownExample(ExampleView("a", 1, 0.9, (1, 2, 3, 4), 0.7, None), PICTURE),
        ShownExample(ExampleView("a", 2, 0.8, (1, 2, 3, 4), 0.1, EVIL), PICTURE),
        ShownExample(ExampleView("a", None, None, (1, 2, 3, 4), None, None), PICTURE),
        ShownExample(ExampleView("a", None, 2.5, None, None, "median rank"), UNMADE),
        ShownExample(ExampleView(EVIL, None, None, None, None, None), None),
    )
    lists = (ExampleList(EVIL, EVIL, examples), ExampleList("Missed objects", "None.", ()))
    page = ExamplesPage(VAL, EVIL, 7, EVIL, 4, 3, ("cat", EVIL), EVIL, lists, EVIL)
    yield "image_lists/images.html", {"page": page}
    yield "image_lists/images.html", {"page": replace(page, run_id=None, submission_id=None, class_name=None)}
    yield "image_lists/images.html", {"page": replace(page, lists=None, missing=EVIL)}
    yield "image_lists/images.html", {"page": replace(page, classes=(), class_name=None)}
