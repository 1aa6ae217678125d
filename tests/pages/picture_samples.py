"""Contexts for the pages of pictures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.images.covers import Cover, CoverPage
from app.images.drawing import ExampleView
from app.images.label_reports import (
    ImageReports,
    LabelReportView,
    ReportedImage,
    ReportedImages,
    Reporting,
    ReportQuery,
)
from app.images.lists import ExampleList, ExamplesPage, ShownExample
from app.images.overlays import DrawnRun
from app.images.pictures import PicturesPage, PictureView
from app.images.text_images import TextImageView
from app.images.viewer import (
    BEING_DRAWN,
    Mark,
    OfferedCompetition,
    OfferedRun,
    OutcomeRow,
    Panel,
    ViewerPage,
    legend,
)
from app.models import Audience, ImageMode, LabelProblem, PictureSource
from tests.pages.challenge_samples import MOSAIC, OWN_COVER
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE, VAL

Sample = tuple[str, dict[str, Any]]

PICTURE = PictureView(3, "2008_000008", 500, 375, "0123456789ab", None)
UNMADE = PictureView(4, EVIL, None, None, None, None)
REFUSED = replace(UNMADE, problem=EVIL)


def source_of(**facts: Any) -> PictureSource:
    facts = {
        "mode": ImageMode.COPY,
        "folder": EVIL,
        "is_public": False,
        "draws_truth": False,
        "offers_archive": True,
        **facts,
    }
    return PictureSource(**facts)


SOURCE = source_of(mode=ImageMode.LINK, problem=EVIL)
COPIED = source_of()
STORED = source_of(archive_key="ab" * 32, archive_size=12345)
UNSTORED = source_of(archive_problem=EVIL)
UNOFFERED = source_of(offers_archive=False)
RUN = DrawnRun(7, 3, EVIL, 4, 1, 0.5)
REPORT = LabelReportView(7, "val", EVIL, LabelProblem.CLASS, EVIL, EVIL, 1, NOW, None, "", None)
REPORTS = (
    REPORT,
    replace(REPORT, id=6, version=None, closed_at=NOW, answer=EVIL),
    replace(REPORT, id=5, closed_at=NOW, corrected_in=2),
)
REPORTED: dict[str, Any] = {
    "reporting": Reporting(True, REPORTS),
    "problems_of_labels": list(LabelProblem),
    "longest": 1000,
    "form": {"kind": "other", "text": EVIL},
    "problems": {"text": EVIL},
}


def of_pictures() -> Iterator[Sample]:
    """Lists of pictures, the viewer, and lists of example images."""
    page = PicturesPage(VAL, (PICTURE, UNMADE, REFUSED), 3, 1, 1, 1, EVIL, 3, 4, True, None)
    yield "images/pictures.html", {"page": page, "form": {}, "problems": {}}
    hidden = replace(page, phase=PHASE, is_public=False, source=SOURCE, previous=None)
    typed = {"is_public": True, "draws_truth": True, "reason": EVIL}
    yield "images/pictures.html", {"page": hidden, "form": typed, "problems": {"reason": EVIL}}
    yield (
        "images/pictures.html",
        {"page": replace(page, source=COPIED, refused=0), "form": {}, "problems": {}},
    )
    shown = replace(page, phase=PHASE, pictures=(), made=3, being_made=0, next=None)
    yield "images/pictures.html", {"page": shown, "form": {}, "problems": {}}
    for source in (STORED, UNSTORED, UNOFFERED):
        yield "images/pictures.html", {"page": replace(page, source=source), "form": {}, "problems": {}}
    sent = (TextImageView("x-1x1.jpg", "/challenges/x/text-images/x-1x1.jpg", EVIL, f"![{EVIL}](/x)"),)
    own = CoverPage("VOC2007", EVIL, OWN_COVER)
    yield (
        "images/cover.html",
        {
            "page": own,
            "images": sent,
            "most": 50,
            "form": {"alt": EVIL, "shows": EVIL},
            "problems": {"picture": EVIL, "alt": EVIL, "image": EVIL, "shows": EVIL},
        },
    )
    for cover in (MOSAIC, Cover()):
        yield (
            "images/cover.html",
            {"page": replace(own, cover=cover), "images": (), "most": 50, "form": {}, "problems": {}},
        )
    for phase in (replace(VAL, images_available=False), replace(VAL, images_for=Audience.TERMS)):
        closed = replace(page, phase=replace(phase, publishes_images=True), is_public=False)
        yield "images/pictures.html", {"page": closed, "form": {}, "problems": {}}
    yield from _of_viewer()
    yield from _of_reports()
    yield from _of_lists()


def _of_viewer() -> Iterator[Sample]:
    marks = (Mark("truth", 1, 2, 3, 4, EVIL), Mark("false part", 1, 2, 3, 4, EVIL, 0.5, False))
    lines = (OutcomeRow(EVIL, None, EVIL), OutcomeRow(EVIL, 0.5, "true positive", False))
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
    yield "images/viewer.html", {"page": page, "query": "competition=3", **REPORTED}
    archive = {"archive_name": "results.tar.gz", "archive_size": 20_000}
    for drawn in (page, replace(page, panels=panels[:2])):
        yield (
            "home/try.html",
            {"tried": None, "has_newest": drawn is page, "drawn": drawn, "most": 6, **archive},
        )
    coloured = replace(
        page,
        panels=(Panel(EVIL, None, (), (), "/pictures/a/b/c/labels.png?run=1", None),),
        legend=legend(["aeroplane"]),
        threshold=None,
        lowest=None,
        highest=None,
    )
    refused = REPORTED | {"reporting": Reporting(True, (), (EVIL,)), "problems": {}}
    yield "images/viewer.html", {"page": coloured, "query": "", **refused}
    archived = REPORTED | {"reporting": Reporting(False, REPORTED["reporting"].own)}
    yield "images/viewer.html", {"page": replace(page, picture=UNMADE), "query": "", **archived}
    nothing = replace(page, runs=(), panels=(), before=None, after=None)
    unasked = REPORTED | {"reporting": Reporting(), "problems": {}}
    yield "images/viewer.html", {"page": nothing, "query": "", **unasked}
    withheld = replace(nothing, picture=UNMADE, withheld=EVIL)
    yield "images/viewer.html", {"page": withheld, "query": "", **unasked}


def _of_reports() -> Iterator[Sample]:
    query = {"query": ReportQuery(), "words": "", "older": None}
    rows = tuple(ReportedImage("val", name, 3, 1200, 7, NOW) for name in ("a.jpg", EVIL))
    page = ReportedImages("VOC2007", EVIL, 3, 1200, rows, 7)
    later = {"query": ReportQuery(state="open"), "words": "state=open", "older": "state=open&before=7"}
    yield "images/reported.html", {"page": page, **later}
    nothing = replace(page, images=(), open=0, closed=0)
    yield "images/reported.html", {"page": nothing, **query}
    yield "images/reported.html", {"page": nothing, **query, "query": ReportQuery(state="closed")}
    yield "images/reported.html", {"page": nothing, **query, "query": ReportQuery(before=7)}
    reports = ImageReports("VOC2007", EVIL, 3, "val", EVIL, 2, REPORTS, 7)
    typed = {"answer": EVIL, "corrected_in": EVIL}
    chosen = {"chosen": ["7"], "longest": 1000}
    shown = {"page": reports, "form": typed, "problems": {"answer": EVIL, "corrected_in": EVIL}, **chosen}
    yield "images/reports.html", shown
    closed = replace(reports, reports=REPORTS[1:], newest_version=None, next=None)
    yield "images/reports.html", {"page": closed, "form": {}, "problems": {}, **chosen}


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
    yield "images/lists.html", {"page": page}
    yield "images/lists.html", {"page": replace(page, run_id=None, submission_id=None, class_name=None)}
    yield "images/lists.html", {"page": replace(page, lists=None, missing=EVIL)}
    yield "images/lists.html", {"page": replace(page, classes=(), class_name=None)}
