"""Contexts for the pages of drafts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.pictures_from import ParticipantsPictures
from app.challenges.texts import TextSheet
from app.intake.reports import CLUE, Finding
from app.models import IntakeState
from app.organising import draft_pages, draft_rules
from app.organising.challenge_file import FileProblem, SettingDifference
from app.organising.draft_rules import (
    Answers,
    Check,
    Facts,
    RulesChoice,
    ScoringChoice,
    Step,
    Task,
    What,
    checklist_of,
)
from app.organising.drafts import DraftLine, DraftView, Start
from app.organising.setting_files import FileOutcome
from tests.pages.drawn import EVIL
from tests.pages.intake_samples import INTAKE, REPORT, SHOWN, VIEWS, WITHOUT_PROBLEMS
from tests.pages.views import NOW

CODE = "VOC2007"
WHAT = What(title=EVIL, code="birds", tagline=EVIL, template="coco", tasks=["detection", "segmentation"])
SCORING = ScoringChoice(protocol="voc2012", own="mean", others="at close", ladder=True, details_at_close=True)
RULES = RulesChoice(
    closes_at=NOW + timedelta(days=42), per_week=2, visibility="invited", invited="@example.org",
    image_licence="CC-BY-4.0", terms="own", terms_text="Be fair.", saved_at=NOW,
)  # fmt: skip
ANSWERS = Answers(WHAT, Check(sets=("hidden-0", "public-0")), SCORING, RULES)
FACTS = Facts(
    code=CODE, saved=(), is_read=False, contradictions=(), is_made=False, is_making=False, has_text=False,
    organisers=1, sends_mail=False, mail_lacks=EVIL,
)  # fmt: skip
DONE = Facts(
    code=CODE, saved=tuple(Step), is_read=True, contradictions=(), is_made=True, is_making=False, has_text=True,
    organisers=1, sends_mail=True, trials={7: True, 8: False}, tests_on=EVIL,
    says_pictures=True, untrue_pictures=(EVIL,),
)  # fmt: skip
EMPTY = DraftView(
    id=7,
    code=CODE,
    title=EVIL,
    answers=Answers(WHAT),
    intake=None,
    can_receive=False,
    changed_at=NOW,
    is_made=False,
    contradictions=(),
    items=checklist_of(FACTS),
    opens_at=None,
    refusal="",
    texts=TextSheet(CODE, EVIL, 0),
)
READ = replace(INTAKE, state=IntakeState.READ, report=replace(WITHOUT_PROBLEMS, warnings=REPORT.warnings))
FULL = replace(
    EMPTY,
    answers=ANSWERS,
    intake=READ,
    can_receive=True,
    contradictions=(EVIL,),
    items=checklist_of(replace(FACTS, saved=tuple(Step), contradictions=(EVIL,))),
    refusal=EVIL,
    texts=TextSheet(CODE, EVIL, 3, overview="# Birds"),
)
READY = replace(
    FULL,
    intake=replace(READ, state=IntakeState.APPLIED),
    contradictions=(),
    items=checklist_of(DONE),
    is_made=True,
    opens_at=NOW,
    pictures=ParticipantsPictures(
        pictures_from="elsewhere", pictures_address="https://pictures.example/birds"
    ),
)
DRAFTS = (
    EMPTY,
    FULL,
    replace(FULL, contradictions=(), refusal=""),
    READY,
    replace(READY, is_open=True),
    replace(FULL, intake=replace(READ, report=replace(WITHOUT_PROBLEMS, is_neutral=True))),
    replace(FULL, intake=replace(READ, report=replace(WITHOUT_PROBLEMS, warnings=(Finding(CLUE, EVIL),)))),
    *(replace(FULL, intake=each) for each in VIEWS),
)


def of_drafts() -> Iterator[tuple[str, dict[str, Any]]]:
    start = {"tasks": tuple(Task), "steps": draft_rules.TITLES, "problems": {}, "copy": {}, "way": "scratch"}
    page = Start((DraftLine("birds", EVIL, Step.RULES, NOW),), {"birds": EVIL})
    form: dict[str, Any] = {"template": "voc", "tracks": "one"}
    yield "organisers/new/start.html", {**start, "page": page, "form": form}
    for way in ("scratch", "copy"):
        yield "organisers/new/start.html", {**start, "page": Start(()), "form": form, "way": way}
    yield from _of_files()
    names = ("title", "code", "tagline", "tasks", "template", "tracks", "copy_title", "copy_code")
    wrong = dict.fromkeys(names, EVIL)
    yield (
        "organisers/new/start.html",
        {**start, "page": page, "form": wrong, "problems": wrong},
    )
    yield (
        "organisers/new/start.html",
        {**start, "page": page, "form": form, "copy": {"copy_title": EVIL}, "problems": wrong, "way": "copy"},
    )
    for step in Step:
        for view in DRAFTS:
            yield f"organisers/new/{step}.html", _context(step, view)
        context = _context(step, FULL)
        problems = dict.fromkeys((*context["form"], "class-1", "classes", ""), EVIL)
        yield f"organisers/new/{step}.html", {**context, "problems": problems}
    for problems in ({}, {"opens_at": EVIL}):
        form = {"opens_at": "2027-01-01T00:00", "opens_zone": "AoE"}
        yield (
            "organisers/new/schedule.html",
            {**draft_pages.OF_NO_STEP, "view": READY, "form": form, "problems": problems},
        )
    for view in (EMPTY, READY):
        for act in ("open", "delete"):
            yield "organisers/new/confirm.html", {**draft_pages.OF_NO_STEP, "view": view, "act": act}


def _context(step: Step, view: DraftView) -> dict[str, Any]:
    return {
        "view": view,
        "step": step,
        "steps": draft_rules.TITLES,
        "intake": view.intake,
        "problems": {},
        "shown": SHOWN[1] if step is Step.CHECK and view.is_read else None,
        "form": draft_pages.FORMS[step](view),
        **draft_pages.CONTEXTS[step](view),
    }


def _of_files() -> Iterator[tuple[str, dict[str, Any]]]:
    """Pages of files of settings: before one, with problems, with differences, after a change."""
    page, base = "organisers/new/file.html", {"text": EVIL, "problems": (), "outcome": None}
    yield page, base
    yield page, {**base, "problems": (FileProblem(3, EVIL, EVIL), FileProblem(None, "", EVIL))}
    same = FileOutcome(CODE, EVIL)
    yield page, {**base, "outcome": same}
    differing = replace(
        same,
        differences=(SettingDifference("title", EVIL, EVIL), SettingDifference("tasks", "", EVIL, EVIL)),
        releases=(EVIL,),
    )
    yield page, {**base, "outcome": differing}
    yield page, {**base, "outcome": replace(differing, is_applied=True)}
