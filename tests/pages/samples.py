"""Contexts for every template."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import heldout_scoring
from app.boards.ranking import FIGURES
from app.boards.selections import BoardQuery, TrainingData, column_groups
from app.challenges.disclosure import DISCLOSURE_LEVELS, Exposure, ProbingSigns, Use
from app.challenges.phase_rules import PhaseState
from app.challenges.terms import RequiredStep
from app.core.problems import PROBLEMS
from app.core.site import ServiceLine
from app.evaluation import similarity
from app.evaluation.similarity import Pair, PairList, PairSide
from app.home.trying import Neighbour, Tried
from app.jobs.places import Cause, Outlook, Wait
from app.jobs.queue import DeadJob
from app.models import (
    ChallengeRole,
    Disclosure,
    JobKind,
    QuestionKind,
    Quota,
    ResultState,
    Role,
    RunState,
    UploadState,
)
from app.operations.administration import PeoplePage, Person
from app.operations.administration_index import AdministrationIndex, Disk
from app.operations.documentation import Field
from app.operations.storage import DamagedContentView, LastSweep, StorageLine, StorageView
from app.organising.audit import TOPICS, AuditLine, AuditPage
from app.organising.disclosing import DisclosureTerms, DisclosureView
from app.organising.phases import PhaseSheet, SizeBounds
from app.organising.questions import OrganisedQuestion, QuestionsView
from app.organising.roles import OrganisedChallenge, Organiser, RoleInvitation, RoleLink
from app.organising.run_counts import WaitingForRepair
from app.people.team_choice import TeamChoice
from app.results.analyses import AnalysisView
from app.results.submissions import QuotaEffect, SubmissionRow
from app.submissions.questions import PRESETS
from app.submissions.quotas import Holder, QuotaLine, QuotaUse, SlotView
from app.submissions.retention import Retention
from app.submissions.uploads import CheckState, UploadPage
from tests.pages.anonymous_views import anonymous_result, links_page
from tests.pages.challenge_samples import of_challenges
from tests.pages.comparison_views import of_comparisons
from tests.pages.data_samples import of_data
from tests.pages.documentation_samples import of_documentation, of_reference
from tests.pages.draft_samples import of_drafts
from tests.pages.drawn import EVIL
from tests.pages.figure_samples import of_figures
from tests.pages.intake_samples import of_intakes
from tests.pages.label_samples import of_labels
from tests.pages.login_samples import of_logins
from tests.pages.method_views import method_page, showcase, shown_method
from tests.pages.notification_samples import of_notifications
from tests.pages.organiser_samples import of_organisers, of_previews
from tests.pages.people_samples import of_people
from tests.pages.picture_samples import of_pictures
from tests.pages.result_views import HISTORY, RANK, context, detail
from tests.pages.status_samples import of_status
from tests.pages.team_samples import of_teams
from tests.pages.text_samples import of_creating, of_settings, of_setup, of_texts, of_visibility
from tests.pages.thread_samples import of_threads
from tests.pages.views import (
    METHOD,
    NOW,
    PHASE,
    QUESTIONS,
    VAL,
    board,
    cancelled,
    confirmation,
    drawn_board,
    fault,
    organised,
    run,
    submission,
    submitting,
    upload,
    upload_row,
    values,
    withdrawn,
)
from tests.pages.webhook_samples import of_webhooks

Sample = tuple[str, dict[str, Any]]  # a template and its context


def samples() -> Iterator[Sample]:
    """Each page with contexts that cover its branches."""
    yield from of_challenges()
    yield from of_data()
    yield from of_intakes()
    yield from of_labels()
    yield from of_drafts()
    yield from of_documentation()
    yield from of_accounts()
    yield from of_people()
    yield from of_logins()
    yield from of_phases()
    yield from of_uploads()
    yield from of_pictures()
    yield from of_submissions()
    yield from of_boards()
    yield from of_questions()
    yield from of_embedded()
    yield from of_comparisons()
    yield from of_figures()
    yield from of_teams()
    yield from of_texts()
    yield from of_visibility()
    yield from of_setup()
    yield from of_settings()
    yield from of_creating()
    yield from of_notifications()
    yield from of_webhooks()
    yield from of_status()
    yield from of_threads()
    yield from of_the_rest()


def of_accounts() -> Iterator[Sample]:
    typed = {"email": EVIL, "name": EVIL}
    for page in ("accounts/register.html", "sessions/login.html"):
        empty = {"form": {}, "problems": {}, "next": "/", "is_interrupted": False}
        yield page, empty
        yield page, {**empty, "is_interrupted": True}
        problems = {"email": EVIL, "": "Both are wrong."}
        yield (
            page,
            {"form": typed, "problems": problems, "next": EVIL, "is_interrupted": True},
        )
    for link in (RoleLink(EVIL), RoleLink(EVIL, ChallengeRole.VIEWER), RoleLink(None), None):
        yield "roles/link.html", {"token": "t0ken", "link": link}


TEAM_USE = QuotaUse(Holder.TEAM, Quota(2, 7), 1, NOW)
PERSON_USE = QuotaUse(Holder.PERSON, Quota(2, 7), 2, NOW)
QUOTA_LINE = QuotaLine("detection", 0, NOW + timedelta(days=3), (TEAM_USE, PERSON_USE), 1)


def of_phases() -> Iterator[Sample]:
    free = SlotView(1, EVIL, "detection", EVIL, EVIL, NOW, NOW, False, None, None, "test")
    slots = (free, replace(free, submission=12), replace(free, taken_back_at=NOW, granted_by=None))
    bounds = SizeBounds(2 << 30, 8 << 30, 2 << 30)
    sheet = PhaseSheet(
        PHASE,
        heldout_scoring.Limits(),
        bounds,
        True,
        slots,
        TeamChoice((EVIL,), 2),
        ("classification", "detection"),
        1,
    )
    quotas = {"quota_rows": [(EVIL, EVIL), ("", "")], "quota_total": EVIL}
    form = {"task": "detection", "team": EVIL, "reason": EVIL, **quotas}
    context: dict[str, Any] = {
        "saved": False,
        "problems": {},
        "refused": (),
        "consequences": (EVIL,),
        "may_close": True,
    }
    yield "phases/phase.html", {**context, "sheet": sheet, "form": form}
    for choice in (TeamChoice(), TeamChoice((EVIL, "Oak")), TeamChoice((EVIL,), part=EVIL)):
        listed = replace(sheet, teams=choice)
        yield (
            "phases/phase.html",
            {**context, "sheet": listed, "form": form, "problems": {"team": EVIL}},
        )
    wrong = {
        "quotas": EVIL,
        "task": EVIL,
        "pause_reason": EVIL,
        "opens_at": EVIL,
        "early": EVIL,
        "early_at": EVIL,
    }
    bare = replace(sheet, slots=(), phase=VAL)
    zones = {"task": "", "opens_zone": "Europe/Berlin", "closes_zone": "AoE", **quotas}
    yield (
        "phases/phase.html",
        {**context, "sheet": bare, "form": zones, "problems": wrong, "refused": (EVIL,), "saved": True},
    )
    draft = replace(sheet, phase=replace(PHASE, is_draft=True))
    yield "phases/phase.html", {**context, "sheet": draft, "form": form}
    paused = replace(sheet, phase=replace(PHASE, paused_at=NOW, pause_reason=EVIL))
    yield (
        "phases/phase.html",
        {**context, "sheet": paused, "form": form, "saved": True, "may_close": False},
    )


def of_uploads() -> Iterator[Sample]:
    yield "submissions/submit.html", submitting()
    steps = (RequiredStep(EVIL, EVIL, "/account/address"),)
    left = (QUOTA_LINE, replace(QUOTA_LINE, left=1, next_slot=None, uses=(TEAM_USE,)))
    service = ServiceLine("fault", EVIL, EVIL)
    shut = replace(VAL, paused_at=NOW, pause_reason=EVIL, is_draft=True)
    empty = replace(submitting()["page"], phase=shut, steps=steps, can_upload=False, quota=left)
    yield "submissions/submit.html", submitting(page=empty) | {"service": service}
    for state in UploadState:
        if state is not UploadState.CHECKED:
            yield "submissions/submit.html", submitting(upload(state))
    busy = replace(upload(UploadState.RECEIVED), check=CheckState.RUNNING)
    yield "submissions/submit.html", submitting(busy)
    yield "submissions/submit.html", submitting(replace(busy, is_ours=False))
    rows = tuple(upload_row(state, valid=valid) for state in UploadState for valid in (True, False))
    page = UploadPage(rows, "20261121T120000.000000Z_x", 1024, 4096)
    yield "uploads/mine.html", {"page": page, "open_phases": ()}
    for open_phases in ((PHASE, VAL), ()):
        yield "uploads/mine.html", {"page": replace(page, uploads=(), next=None), "open_phases": open_phases}
        nothing: dict[str, Any] = {
            "methods": (),
            "older": None,
            "quota": {},
            "unpublishable": (),
            "is_first": True,
        }
        yield "submissions/mine.html", nothing | {"open_phases": open_phases}
    lines = (
        StorageLine("confirmed", 1200, 1024**3, None, 0),
        StorageLine("partial", 3, 2048, NOW + timedelta(days=1), 2),
    )
    retention = Retention(timedelta(days=7), timedelta(days=2), timedelta(days=2))
    damaged = (DamagedContentView("stored archive", "archives", "cd" * 32, NOW, NOW, 2),)
    storage = StorageView(lines, 1100, 1024**3, retention, 1024**3, damaged, 201, LastSweep(NOW, 7, 2048))
    on_disks = {"disks": (Disk(("database", EVIL), 1, 1024**4),)}
    yield "retention/storage.html", on_disks | {"storage": storage}
    yield (
        "retention/storage.html",
        on_disks | {"storage": replace(storage, lines=(), damaged=(), last_sweep=None)},
    )
    checked = upload(UploadState.CHECKED, valid=True)
    yield "submissions/submit.html", submitting(upload(UploadState.CHECKED, valid=False))
    yield "submissions/submit.html", submitting(replace(checked, submissions=[7, 8]))
    yield "submissions/submit.html", submitting(checked, confirmation())
    warned = replace(checked, report=(checked.report or {}) | {"warnings": [fault("box-form", EVIL, 3)]})
    new = confirmation(known=None, names=(), questions=(), shortest_description=0, refusals=(EVIL,))
    problems = {"method": EVIL, "competition": "choose one", "description": "is too long", "answers": EVIL}
    wrong = submitting(warned, new, problems=problems, refused=(EVIL,), quota_text=None)
    yield (
        "submissions/submit.html",
        wrong | {"page": replace(wrong["page"], steps=steps, contact="", outlook=Outlook(0, False, None))},
    )
    unnamed = confirmation(known=None)
    yield (
        "submissions/submit.html",
        submitting(checked, unnamed, form=wrong["form"] | {"method": "", "competition": ()}),
    )
    private = replace(METHOD, public_at=None, is_baseline=False, paper_url="", code_url=EVIL, description="")
    empty = method_page(private, submissions=(), results=(), changes=(), unpublishable=EVIL)
    theirs = method_page(private, is_ours=False, can_rename=False)
    yield "methods/method.html", shown_method(method_page(), EVIL)
    yield "methods/method.html", shown_method(empty, None, shown=None)
    yield "methods/method.html", shown_method(theirs, None, shown=showcase(EVIL, "roc"))
    yield "anonymous/result.html", anonymous_result()
    yield "anonymous/result.html", anonymous_result(headline=None, headline_reason=EVIL, withheld=None)
    yield "anonymous/result.html", anonymous_result(headline=None, is_withdrawn=True)
    yield "anonymous/links.html", {"page": links_page()}
    yield "anonymous/links.html", {"page": links_page(links=(), refusals=(EVIL,), is_public=False)}
    yield "methods/edit.html", {"page": method_page(), "form": {"name": EVIL}, "problems": {}}
    yield (
        "methods/edit.html",
        {"page": method_page(private, can_rename=False), "form": {}, "problems": {"paper_url": EVIL}},
    )


def of_submissions() -> Iterator[Sample]:
    waiting = submission(
        run(RunState.QUEUED),
        run(RunState.RUNNING, attempt=2),
        run(RunState.QUEUED, position=None, has_worker=False),
        run(RunState.QUEUED, waits_for=Wait(Cause.PAUSED, EVIL)),
        final=False,
    )
    blank = run(
        RunState.SCORED,
        headline=None,
        headline_reason="sofa was not entered",
        classes=values(),
        is_rescore=True,
    )
    ended = submission(run(RunState.SCORED), blank, run(RunState.REFUSED), run(RunState.FAILED))
    first, *others = ended.results
    ranked = replace(
        ended, results=(replace(first, rank=RANK, history=HISTORY), *others), withheld=None, is_final=False
    )
    not_yet = AnalysisView(is_computed=False)
    for page in ("submissions/submission.html", "submissions/renewed.html"):
        yield page, context(waiting)
        yield page, context(ended)
        yield page, context(ended, replace(detail(blank), curves=None, analysis=not_yet), chosen=2)
        yield page, context(ranked, detail(ranked.results[0].shown))
        yield page, context(withdrawn())
        yield page, context(replace(withdrawn(), unpublishable=EVIL))
        yield page, context(cancelled())
        yield page, context(cancelled(EVIL))
    neighbour = Neighbour(EVIL, 0.5)
    scored_alone = replace(ended, results=(first,))
    for tried in (
        None,
        Tried(replace(waiting, results=waiting.results[:1])),
        Tried(replace(ended, results=ended.results[3:])),
        Tried(scored_alone),
        Tried(scored_alone, neighbour, neighbour, 2, 7),
        Tried(scored_alone, neighbour, None, 8, 7),
        Tried(scored_alone, None, neighbour, 1, 7, detail(first.shown).curves),
    ):
        archive = {"archive_name": f"{EVIL}.tar.gz", "archive_size": 20_000}
        yield (
            "home/try.html",
            {"tried": tried, "has_newest": tried is not None, "drawn": None, "most": 6, **archive},
        )
    row = SubmissionRow(
        12, "VOC2007", "test", 3, EVIL, NOW, ResultState.PENDING, RunState.QUEUED, 2, None, None
    )
    failed = replace(
        row, state=ResultState.FAILED, run_state=RunState.FAILED, position=None, failure_message=EVIL
    )
    scored = replace(row, state=ResultState.SCORED, run_state=RunState.SCORED, position=None, mean=0.0)
    waiting_row = replace(row, is_waiting=True, quota=QuotaEffect.COUNTS, waits_for=Wait(Cause.TURN, EVIL))
    gone = replace(row, state=ResultState.WITHDRAWN, quota=QuotaEffect.CANCELLED, is_public=True)
    yield (
        "submissions/mine.html",
        {
            "methods": ((row, failed), (scored, waiting_row, gone)),
            "older": "/x",
            "quota": {PHASE: (QUOTA_LINE,)},
            "unpublishable": {0},
            "is_first": False,
        },
    )


def of_embedded() -> Iterator[Sample]:
    for count in (0, 12):
        drawn = drawn_board(board(count))
        yield (
            "leaderboards/embed.html",
            {"board": drawn["board"], "controls": drawn["controls"]},
        )


def of_questions() -> Iterator[Sample]:
    page = QuestionsView("VOC2007", EVIL, 500, (), PRESETS)
    asked = tuple(OrganisedQuestion(each, each.id - 7) for each in QUESTIONS)
    context: dict[str, Any] = {"kinds": list(QuestionKind), "form": {}, "problems": {}, "changed": None}
    yield "questions/questions.html", {"page": page, **context}
    wrong = {"form": {"text": EVIL}, "problems": {"text": EVIL, "choices": EVIL}}
    for changed in (None, 7):
        yield (
            "questions/questions.html",
            {"page": replace(page, questions=asked), **context, **wrong, "changed": changed},
        )
    rule = {"form": {"shortest": EVIL}, "problems": {"shortest": EVIL}, "changed": 0}
    yield "questions/questions.html", {"page": page, **context, **rule}


def of_boards() -> Iterator[Sample]:
    page = "leaderboards/board.html"
    yield page, drawn_board(board(12))
    by_class = board(3, sort="car", descending=False, decimals=None, rescoring=False, beyond_public=True)
    yield (
        page,
        drawn_board(by_class, BoardQuery("car", descending=False, intervals=True, compact=True, method=2)),
    )
    for sort in FIGURES:
        yield page, drawn_board(board(3, sort=sort), pages=3, has_details=False)
    yield page, drawn_board(board(0, shows_newest=True))
    day = date(2026, 11, 21)
    yield page, drawn_board(board(0, as_of=day), BoardQuery(as_of=day))
    filtered = BoardQuery(
        team=7, difficult=True, training=TrainingData.GIVEN, since=day, until=day, classes=("car",)
    )
    yield page, drawn_board(replace(board(0), methods=3), filtered)
    many = tuple(f"class {place}" for place in range(120))
    yield (
        page,
        drawn_board(
            board(1, classes=many[:20]), BoardQuery("class 1"), classes=many, groups=column_groups(many)
        ),
    )


def of_admins(challenge: OrganisedChallenge) -> Iterator[Sample]:
    page = {"challenge": challenge, "form": {"email": EVIL}, "link": None, "roles": list(ChallengeRole)}
    yield "roles/organisers.html", {**page, "problems": {"email": EVIL}}
    yield "roles/organisers.html", {**page, "problems": {}, "link": f"https://voc.example/{EVIL}"}
    nobody = replace(challenge, organisers=(), invitations=())
    yield "roles/organisers.html", {**page, "challenge": nobody, "form": {}, "problems": {}}
    person = Person(7, EVIL, EVIL, Role.PARTICIPANT, (EVIL,), NOW, NOW, is_program=True)
    active = replace(person, role=Role.ADMIN, suspended_at=None, organises=(), is_program=False)
    program = replace(person, suspended_at=None)
    people = PeoplePage((person, active, program), 5)
    yield (
        "administration/people.html",
        {"page": people, "form": {"text": EVIL}, "older": "/admin/people?after=5"},
    )
    yield "administration/people.html", {"page": PeoplePage((), None), "form": {}, "older": None}
    for each in (person, active, replace(person, id=1)):
        yield "administration/person.html", {"person": each, "form": {}, "problems": {"reason": EVIL}}
    change: dict[str, Any] = {"role": EVIL, "organises": [1, 2], "nothing": None}
    record = AuditLine(3, NOW, 1, EVIL, EVIL, EVIL, EVIL, EVIL, change, change, change, EVIL)
    rows = (
        record,
        replace(record, by=None, name=None, challenge=None, before=None, after=None),
        replace(record, name=None),
    )
    context = {"here": "/audit", "words": "who=a", "topics": TOPICS}
    yield (
        "audit/audit.html",
        {**context, "page": AuditPage(rows, 2), "form": {"action": EVIL}, "older": "/audit?before=2"},
    )
    of_one = AuditPage(rows, None, "VOC2007", EVIL, is_viewed=True)
    yield "audit/audit.html", {**context, "page": of_one, "form": {"action": "team."}, "older": None}
    for template in ("audit/audit.html", "administration/audit.html"):
        yield template, {**context, "page": AuditPage(rows, 2), "form": {}, "older": "/audit?before=2"}
        yield template, {**context, "page": AuditPage((), None), "form": {}, "older": None}


def of_alike_results() -> Iterator[Sample]:
    newer, older = PairSide(9, 12, EVIL, 7, EVIL, NOW), PairSide(3, 4, EVIL, 8, EVIL, NOW)
    pair = Pair(1, 3, newer, older, True, 0.9731, 0.2, None, NOW, None, None, None)
    dismissed = replace(pair, older=replace(older, team_id=7), dismissed_at=NOW, dismiss_reason=EVIL)
    for is_dismissed, pairs in ((False, (pair,)), (True, (dismissed, pair)), (False, ()), (True, ())):
        found = PairList(PHASE, is_dismissed, pairs, 7 if pairs else None)
        yield "similarity/pairs.html", {"list": found, "phase": PHASE, "rules": similarity}


def of_the_rest() -> Iterator[Sample]:
    message = DeadJob(3, JobKind.INTERVALS, {"run_id": 7}, 5, EVIL, NOW)
    challenge = OrganisedChallenge(
        EVIL,
        EVIL,
        1,
        tuple(Organiser(number, EVIL, EVIL, role, NOW) for number, role in enumerate(ChallengeRole)),
        (RoleInvitation("ab" * 32, EVIL, ChallengeRole.VIEWER, NOW, NOW + timedelta(days=7)),),
    )
    index = AdministrationIndex(
        workers=1, senders=1, last_backup_at=NOW, is_backup_old=True, dead_jobs=1, waiting=3, scored_by_hour=(0, 5, 12),
        disks=(Disk((EVIL, "storage"), 5, 100), Disk(("database",), 0, 0)), damaged=2, people=7, challenges=2,
        has_mail_server=True, mail_trouble=EVIL, undelivered=3, notices=1,
    )  # fmt: skip
    quiet = replace(
        index, workers=0, senders=0, last_backup_at=None, dead_jobs=0, scored_by_hour=(0,) * 24, damaged=0, undelivered=0, notices=0,
        has_mail_server=False, mail_trouble=None,
    )  # fmt: skip
    page = "administration/overview.html"
    line = AuditLine(3, NOW, 1, EVIL, EVIL, EVIL, EVIL, EVIL, {}, {}, {}, EVIL)
    latest = (line, replace(line, by=None, challenge=None))
    yield page, {"dead": (message,), "older": "/x", "index": index, "requests": 2, "latest": latest}
    yield page, {"dead": (), "older": None, "index": quiet, "requests": 0, "latest": ()}
    yield (
        page,
        {
            "dead": (),
            "older": None,
            "index": replace(index, mail_trouble=None),
            "requests": 0,
            "latest": latest,
        },
    )
    yield from of_admins(challenge)
    terms = DisclosureTerms(Disclosure.CLASSES, details_at_close=False, only_complete=True)
    refusals = {each: EVIL if each is Disclosure.FULL else None for each in Disclosure}
    disclosed = {
        "view": DisclosureView(PHASE, terms, refusals),
        "leaks": DISCLOSURE_LEVELS,
        "form": {
            "disclosure": "mean",
            "details_at_close": False,
            "only_complete": True,
            "shows_exposure": False,
            "annotation_is_public": False,
            "reason": EVIL,
        },
        "problems": {"reason": EVIL},
        "refused": (EVIL,),
    }
    yield "organisers/disclosure.html", disclosed
    exposed = Exposure(
        7,
        EVIL,
        archives=31,
        contents=30,
        incomplete=4,
        use=Use(31, 620, 2),
        lists=ProbingSigns(3, 40, 20),
        bits=6210.6,
    )
    open_phase = {"phase": VAL, "teams": (replace(exposed, bits=None),), "following": None}
    yield "organisers/exposure.html", {"phase": PHASE, "teams": (exposed,), "following": 7}
    yield "organisers/exposure.html", open_phase
    yield "organisers/exposure.html", {"phase": PHASE, "teams": (), "following": None}
    yield from of_alike_results()
    closed = replace(PHASE, id=3, state=PhaseState.CLOSED)
    upcoming = replace(PHASE, id=4, state=PhaseState.UPCOMING)
    untruthful = organised(upcoming, ground_truth=0, rescore=None, failed=2)
    damaged = organised(closed, rescore=None, damaged=(WaitingForRepair("ground truth", 2),))
    yield from of_organisers((organised(), damaged, untruthful))
    yield from of_previews(organised())
    field = Field("id", "path", is_required=True, description=EVIL)
    yield from of_reference(field)
    missing: dict[str, Any] = {
        "kind": PROBLEMS["not-found"],
        "detail": EVIL,
        "reference": "r-1",
        "is_form": True,
        "above_name": "the submission",
        "problems": (EVIL,),
        "above": f"/{EVIL}",
        "words": EVIL,
    }
    yield "error.html", missing
    yield (
        "error.html",
        {
            **missing,
            "kind": PROBLEMS["unavailable"],
            "is_form": False,
            "above_name": "the submission",
            "problems": (),
            "above": None,
            "words": None,
        },
    )
