"""Contexts for the pages of data sets."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.intake.annotated_pictures import ShownPictures
from app.intake.applying import PhaseCounts
from app.intake.drawing import DrawnPicture, DrawnPictures
from app.intake.intakes import IntakeFileView, IntakeList, IntakeView
from app.intake.reports import (
    ClassChoice,
    ClassCount,
    Finding,
    FoundSet,
    ImageFacts,
    KindCount,
    Renamed,
    Report,
    VersionComparison,
)
from app.intake.trial_results import TrialClass, TrialResult, TrialTask
from app.intake.trials import TrialsView
from app.models import Disclosure, IntakeRole, IntakeState
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE

ID = uuid.UUID(int=7)
FILES = (
    IntakeFileView(ID, ID, IntakeRole.HIDDEN, EVIL, 12345, 12345),
    IntakeFileView(ID, ID, IntakeRole.IMAGES, EVIL, 12345, 5),
    IntakeFileView(ID, ID, IntakeRole.PUBLIC, "test.zip", 0, 0, path=EVIL),
)
CLASSES = (ClassCount(EVIL, 3, 4, 1), ClassCount("dog", 1, 1, 0))
SETS = (
    FoundSet(
        "hidden-0",
        "hidden",
        EVIL,
        "COCO JSON",
        EVIL,
        EVIL,
        3,
        5,
        CLASSES,
        (1, 2),
        ((3, EVIL),),
        EVIL,
        ignored=(ClassCount("cow", 2, 2, 0),),
    ),
    FoundSet("public-1", "public", "train", "table (CSV)", "birds", "train.csv", 3, 0, CLASSES, ()),
    FoundSet("public-0", "public", "val", "table (CSV)", "birds", "val.csv", 3, 0, (), ()),
)
FOUND = (
    Finding("bad-bbox", EVIL, EVIL, None, "annotations[1042], id 887"),
    Finding("field-count", EVIL, EVIL, 1042),
    Finding("no-annotation", EVIL),
)
REPORT = Report(
    FOUND,
    FOUND,
    (KindCount("bad-bbox", 1042), KindCount("field-count", 1)),
    SETS,
    ImageFacts(3, (5, 6), (50, 60)),
    (ClassChoice(EVIL + "a", EVIL), ClassChoice("dog", "dog"), ClassChoice("cow", "cow", is_ignored=True)),
)
INTAKE = IntakeView(
    id=ID,
    challenge="VOC2007",
    challenge_title=EVIL,
    state=IntakeState.RECEIVING,
    files=FILES,
    progress={},
    report=None,
    message="",
    created_at=NOW,
    changed_at=NOW,
    removed_at=NOW,
    image_set=None,
    phase_id=None,
    version=None,
)
TRIED = (
    TrialResult("empty", None, EVIL, (TrialClass(EVIL, None, EVIL),)),
    TrialResult("random", 0.1, None, (TrialClass(EVIL, 0.1, None),)),
    TrialResult("jittered", 0.9, None, (TrialClass(EVIL, 0.9, None),)),
)
TRIALS = (
    TrialsView(PHASE, None),
    TrialsView(PHASE, 1),
    TrialsView(PHASE, 1, is_waiting=True),
    TrialsView(PHASE, 1, message=EVIL, finished_at=NOW),
    TrialsView(
        PHASE, 1, finished_at=NOW,
        tasks=(TrialTask("detection", EVIL, (3, 4), EVIL, TRIED), TrialTask("layout", EVIL, (7,), problem=EVIL)),
    ),
)  # fmt: skip
DRAWN = DrawnPictures(
    (DrawnPicture(EVIL, EVIL, 48, 36, (EVIL, "dog"), 1), DrawnPicture("b", "val", 48, 36, (), 0))
)
SHOWN = (
    ShownPictures(DRAWN, None, None, has_hidden=False, is_waiting=False),
    ShownPictures(DrawnPictures(message=EVIL), DRAWN, NOW, has_hidden=True, is_waiting=False),
    ShownPictures(None, None, None, has_hidden=True, is_waiting=True),
    ShownPictures(None, None, None, has_hidden=False, is_waiting=False),
)
WITHOUT_PROBLEMS = replace(
    REPORT,
    problems=(),
    warnings=(),
    comparisons=(
        VersionComparison(
            REPORT.sets[0].key,
            EVIL,
            1,
            images_gone=1,
            classes_gone=(EVIL,),
            classes_renamed=(Renamed(EVIL, EVIL),),
            moved=2,
        ),
        VersionComparison(REPORT.sets[0].key, "val", 3),
    ),
)
VIEWS = (
    replace(INTAKE, files=()),
    INTAKE,
    replace(INTAKE, state=IntakeState.RECEIVED),
    replace(INTAKE, state=IntakeState.READING, progress={"step": "unpacking", "done": 5, "total": None}),
    replace(INTAKE, state=IntakeState.INVALID, report=REPORT),
    replace(INTAKE, state=IntakeState.FAILED, message=EVIL),
    replace(INTAKE, state=IntakeState.READ, report=WITHOUT_PROBLEMS, message=EVIL),
    replace(INTAKE, state=IntakeState.APPLYING, progress={"step": "decrypting", "done": 5, "total": 10}),
    *(
        replace(
            INTAKE, state=IntakeState.APPLIED, report=WITHOUT_PROBLEMS, removed_at=None, image_set=EVIL, version=2,
            shown_version=shown, newest_version=newest,
        )
        for shown, newest in ((2, 2), (1, 2), (1, 3))
    ),
)  # fmt: skip


def of_intakes() -> Iterator[tuple[str, dict[str, Any]]]:
    for can_receive in (True, False):
        listed = IntakeList("VOC2007", EVIL, VIEWS, can_receive, next=7)
        yield "data_sets/data_sets.html", {"page": listed, "is_first": True}
    for is_first in (True, False):
        empty = IntakeList("VOC2007", EVIL, (), can_receive=True)
        yield "data_sets/data_sets.html", {"page": empty, "is_first": is_first}
    phases = (
        PhaseCounts("val", 3, True, 3, (ClassCount("gone", 1, 2, 3),)),
        PhaseCounts(EVIL, 1, False, 3, CLASSES),
    )
    choices = {"disclosures": tuple(Disclosure), "protocols": {"voc2012": EVIL}}
    form = {"set": "public-0", "phase": EVIL, "disclosure": "mean", "protocol": EVIL, "path": EVIL}
    problems = dict.fromkeys(("set", "phase", "disclosure", "quotas", "path", "accept_changes", ""), EVIL)
    for intake in VIEWS:
        page: dict[str, Any] = {
            "intake": intake,
            "phases": phases,
            "trials": None,
            "shown": SHOWN[3],
            "form": {},
            "problems": {},
            **choices,
        }
        yield "data_sets/data_set.html", page
    neutral = replace(VIEWS[6], report=replace(WITHOUT_PROBLEMS, is_neutral=True))
    yield "data_sets/data_set.html", {**page, "intake": neutral}
    for shown in SHOWN:
        yield "data_sets/data_set.html", {**page, "shown": shown}
    for trials in TRIALS:
        yield "data_sets/trials_page.html", {"trials": trials}
        yield "data_sets/data_set.html", {**page, "trials": trials}
    yield "data_sets/data_set.html", {**page, "intake": VIEWS[6], "form": form, "problems": problems}
