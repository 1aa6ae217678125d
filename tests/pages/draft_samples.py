"""Contexts for the pages of drafts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.texts import TextSheet
from app.intake.draft_phases import Task
from app.intake.reports import CLUE, Finding
from app.models import Challenge, ChallengeDraft, ChallengeVisibility, Disclosure, IntakeState
from app.organising import draft_pages, draft_rules
from app.organising.draft_rules import Step
from app.organising.drafts import DraftLine, DraftView, Item, Start
from tests.pages.drawn import EVIL
from tests.pages.intake_samples import INTAKE, REPORT, SHOWN, VIEWS, WITHOUT_PROBLEMS
from tests.pages.views import NOW, PHASE

CODE = "VOC2007"


def challenge(visibility: ChallengeVisibility = ChallengeVisibility.DRAFT) -> Challenge:
    return Challenge(id=7, code=CODE, title=EVIL, dataset=CODE, visibility=visibility, approves_teams=True)


def draft(**changes: Any) -> ChallengeDraft:
    row = {
        "template": "coco", "tasks": ["detection", "segmentation"], "tracks": "one", "steps": [], "without_picture": 0,
        "opens_to": ChallengeVisibility.INVITED, "image_licence": "CC-BY-4.0", "annotation_licence": "", "refusal": "",
        "changed_at": NOW,
    }  # fmt: skip
    return ChallengeDraft(**row | changes)


ITEMS = (
    Item(EVIL, False, "/organise", EVIL, EVIL),
    Item("The page has a text", True, "/organise", "Page and files"),
    Item("Mail works", False, "/admin", "Settings of the server", EVIL, is_required=False),
    Item("Test run done", True, "/organise", "Look at it", is_required=False, is_link_kept=True),
)
EMPTY = DraftView(
    challenge=challenge(),
    draft=draft(),
    phases=(),
    intake=None,
    chosen=(),
    texts=TextSheet(CODE, EVIL, 0),
    terms="",
    invited=(),
    can_receive=False,
    items=ITEMS,
)
READ = replace(INTAKE, state=IntakeState.READ, report=replace(WITHOUT_PROBLEMS, warnings=REPORT.warnings))
FULL = replace(
    EMPTY,
    draft=draft(steps=["check", "scoring", "rules"], refusal=EVIL),
    intake=READ,
    chosen=READ.report.sets if READ.report else (),
    can_receive=True,
    texts=TextSheet(CODE, EVIL, 3, overview="# Birds"),
)
READY = replace(
    FULL,
    draft=draft(steps=["check", "scoring", "rules"], opens_at=NOW),
    intake=replace(READ, state=IntakeState.APPLIED),
    phases=(
        replace(PHASE, disclosure=Disclosure.LADDER, closes_at=NOW + timedelta(days=42), is_draft=True),
        replace(PHASE, image_set=EVIL, disclosure=Disclosure.FULL, quotas=(), is_draft=True),
    ),
    terms=EVIL,
    invited=("@example.org",),
    items=ITEMS[1:],
)
PUBLIC = replace(READY, phases=READY.phases[1:])
DRAFTS = (
    EMPTY,
    FULL,
    READY,
    PUBLIC,
    replace(READY, challenge=challenge(ChallengeVisibility.LISTED)),
    replace(FULL, intake=replace(READ, report=replace(WITHOUT_PROBLEMS, is_neutral=True))),
    replace(FULL, intake=replace(READ, report=replace(WITHOUT_PROBLEMS, warnings=(Finding(CLUE, EVIL),)))),
    *(replace(FULL, intake=each) for each in VIEWS),
)


def of_drafts() -> Iterator[tuple[str, dict[str, Any]]]:
    start = {"tasks": tuple(Task), "steps": draft_rules.TITLES, "problems": {}, "refused": ()}
    page = Start((DraftLine("birds", EVIL, NOW),), {"birds": EVIL})
    form: dict[str, Any] = {"template": "voc", "tracks": "one"}
    yield "organisers/new/start.html", {**start, "page": page, "form": form}
    yield "organisers/new/start.html", {**start, "page": Start(()), "form": form}
    names = (
        "title",
        "code",
        "tagline",
        "tasks",
        "template",
        "tracks",
        "copy_title",
        "copy_code",
        "copy_source",
    )
    wrong = dict.fromkeys(names, EVIL)
    yield (
        "organisers/new/start.html",
        {**start, "page": page, "form": wrong, "problems": wrong, "refused": (EVIL,)},
    )
    for step in Step:
        for view in DRAFTS:
            yield f"organisers/new/{step}.html", _context(step, view)
        context = _context(step, READY)
        problems = dict.fromkeys((*context["form"], "class-1", "classes", ""), EVIL)
        yield f"organisers/new/{step}.html", {**context, "problems": problems, "refused": (EVIL,)}
    for problems in ({}, {"opens_at": EVIL}):
        form = {"opens_at": "2027-01-01T00:00", "opens_zone": "AoE"}
        yield (
            "organisers/new/schedule.html",
            {"view": READY, "form": form, "problems": problems, "refused": ()},
        )
    for view in (EMPTY, READY):
        for act in ("open", "delete"):
            yield "organisers/new/confirm.html", {"view": view, "act": act}


def _context(step: Step, view: DraftView) -> dict[str, Any]:
    return {
        "view": view,
        "step": step,
        "steps": draft_rules.TITLES,
        "intake": view.intake,
        "problems": {},
        "refused": (),
        "shown": SHOWN[1] if step is Step.CHECK and view.is_read else None,
        "form": draft_pages.form_of(step, view),
        **draft_pages.context_of(step, view),
    }
