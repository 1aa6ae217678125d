"""Contexts for the pages that correct labels of single images."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.intake.changed_pictures import DrawnChange, DrawnChanges
from app.intake.corrections import CorrectionSheet
from app.intake.diff_pictures import ShownChanges
from app.intake.image_labels import FLAGS, EditedBox, EditedClass, ImageLabels, ImageScene
from app.intake.label_scenes import LabelledImages, LabelSheet, ListedImage
from app.intake.reports import ClassChanges, Shift, VersionComparison, VersionDiff
from app.intake.sealed_labels import WaitingEdit
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE

WAITING = (WaitingEdit(EVIL, NOW, 1, is_outdated=True), WaitingEdit("b", NOW, 2, is_outdated=False))
BOX = EditedBox(number=1, class_name=EVIL, left=1, top=2.5, right=30, bottom=40, difficult=True)
CHANGED = VersionDiff(
    VersionComparison("", EVIL, 1, moved=7), (ClassChanges(EVIL, 7),), Shift(1.5, 9.0, 0.9, 0.5)
)
SHOWN = (
    ShownChanges(None, None, is_waiting=False),
    ShownChanges(None, None, is_waiting=True),
    ShownChanges(DrawnChanges(message=EVIL), NOW, is_waiting=False),
    ShownChanges(DrawnChanges((DrawnChange(EVIL, 60, 40, 1, 1, 1, 1, (EVIL,)),), 7), NOW, is_waiting=False),
)


def of_labels() -> Iterator[tuple[str, dict[str, Any]]]:
    images = (ListedImage(EVIL, 1, 60, 40, WAITING[0]), ListedImage("b", 2, None, None, WAITING[1]))
    listed = LabelledImages(PHASE, 2, images, 100_000, 90, 60, EVIL, WAITING)
    for view in (listed, replace(listed, images=(), waiting=())):
        yield "labels/images.html", {"view": view}
    sheet = LabelSheet(PHASE, 2, EVIL, 2, 3, EVIL, "b", (EVIL, "dog"), None, None, False, None, 0)
    scene = ImageScene(
        EVIL, 60, 40, labels=ImageLabels(boxes=(BOX,)), flags=FLAGS, beside=(EVIL,), has_picture=True
    )
    classes = replace(
        scene, has_boxes=False, labels=ImageLabels(classes=(EditedClass(class_name=EVIL),)), has_picture=True
    )
    boxes = {"boxes": [BOX.model_dump(), {}], "classes": [{"class_name": EVIL}, {}]}
    page = {"rows": boxes, "listed": True, "flags": FLAGS, "names": {}}
    for each in (
        None,
        scene,
        classes,
        replace(scene, has_masks=True, width=None),
        replace(scene, problem=EVIL),
    ):
        seen = replace(sheet, scene=each, until=NOW if each else None, edit=WAITING[1], waiting=2)
        for listed_classes in (True, False):
            yield "labels/image.html", {**page, "view": seen, "listed": listed_classes}
    yield "labels/image.html", {**page, "view": replace(sheet, is_waiting=True, edit=WAITING[0])}
    problems = {"box-1-left": EVIL, "box-1-class": EVIL, "": EVIL}
    wrong = {"names": {"box-1-left": "Box 1, left"}, "problems": problems, "refused": (EVIL,)}
    yield "labels/image.html", {**page, **wrong, "view": replace(sheet, scene=scene, until=NOW)}
    empty = CorrectionSheet(PHASE, 2, ())
    asked = CorrectionSheet(PHASE, 2, WAITING, uuid.UUID(int=7), NOW)
    for corrections in (
        empty,
        replace(empty, waiting=WAITING),
        asked,
        replace(asked, found=CHANGED),
        replace(asked, found=VersionDiff(VersionComparison("", EVIL, 1), (), None)),
        replace(asked, message=EVIL, refusal=EVIL),
        replace(asked, found=CHANGED, is_applied=True),
    ):
        yield "labels/corrections.html", {"view": corrections}
