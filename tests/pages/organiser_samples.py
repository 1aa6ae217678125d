"""Samples of the organisers' pages."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.core.access import View
from app.evaluation.rescoring import UndecidedCursor
from app.models import Approval
from app.organising.applied_versions import AppliedVersion
from app.organising.approvals import QuotaUseOfPhase, TeamMember, TeamRow, TeamSheet
from app.organising.bulk import WITH_REASON, Bulk, Plan, Skipped
from app.organising.overview import (
    Card,
    Cards,
    ChallengeOverview,
    FrequentProblem,
    Funnel,
    MailState,
    OrganiserPhase,
    PhaseList,
    needs_of,
)
from app.organising.submissions import RowState, SubmissionColumn, SubmissionTable, TableQuery, TableRow
from app.submissions.quotas import SlotView, Usage, quota_lines
from tests.pages.draft_samples import DRAFTS
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE

Sample = tuple[str, dict[str, Any]]

ROW = TableRow(
    upload=uuid.UUID(int=7),
    started_at=NOW,
    image_set="test",
    team_id=3,
    team=EVIL,
    person=EVIL,
    filename=f"{EVIL}.tar.gz",
    size=2048,
    sha256="cd" * 32,
    is_stored=True,
    state=RowState.SCORED,
    problems=None,
    submission=4,
    result=5,
    competition=3,
    task="Detection",
    method_id=6,
    method=EVIL,
    is_public=True,
    run=9,
    mean=0.648,
)
INVALID = replace(
    ROW,
    state=RowState.INVALID,
    problems=12,
    submission=None,
    result=None,
    competition=None,
    task="",
    method="",
)
ROWS = (
    ROW,
    INVALID,
    *(replace(ROW, result=10 + number, state=state, message=EVIL, is_public=False, is_hidden=True, mean=None) for number, state in enumerate(RowState) if state is not RowState.INVALID),
)  # fmt: skip


def of_organisers(phases: tuple[OrganiserPhase, ...]) -> Iterator[Sample]:
    needs = needs_of("VOC2007", phases, 2, MailState(is_away=True, undelivered=3), 4)
    views = tuple(row.phase for row in phases)
    card = Card(
        "VOC2007",
        EVIL,
        is_viewed=False,
        is_draft=False,
        phases=views,
        teams=2,
        results=30,
        queued=1,
        needs=needs,
    )
    idle = replace(card, is_viewed=True, is_draft=True, needs=(), phases=())
    cards = Cards((card, idle), lacks_worker=True)
    yield "organisers/challenges.html", {"cards": cards, "may_create": True}
    for may_create in (True, False):
        yield "organisers/challenges.html", {"cards": Cards((), lacks_worker=False), "may_create": may_create}

    problem = FrequentProblem("field-count", 7, 2, EVIL, str(uuid.UUID(int=7)))
    view = ChallengeOverview(
        code="VOC2007", title=EVIL, is_viewed=False, phases=phases, needs=needs, funnel=Funnel(318, 300, 291, 286, 120),
        teams=41, workers=0, oldest_queued=timedelta(seconds=14), latest=ROWS, problems=(problem,),
    )  # fmt: skip
    empty = replace(view, phases=(), needs=(), latest=(), problems=(), oldest_queued=None, is_viewed=True)
    for each in (view, replace(view, is_viewed=True), empty):
        yield "organisers/overview.html", {"view": each, "draft": None}
    for draft in DRAFTS:
        yield "organisers/overview.html", {"view": view, "draft": draft}

    applied = (
        AppliedVersion(2, NOW, EVIL, None, is_shown=False, is_newest=True),
        AppliedVersion(1, NOW, "", NOW, is_shown=True, is_newest=False),
    )
    versions = {row.phase.id: applied for row in phases}
    listed = PhaseList("VOC2007", EVIL, is_viewed=False, phases=phases, lacks_worker=True, versions=versions)
    nothing = replace(listed, phases=(), lacks_worker=False)
    for page in ("organisers/phases.html", "organisers/ground_truth.html"):
        for phase_list in (listed, replace(listed, is_viewed=True), nothing):
            yield page, {"view": phase_list, "following": UndecidedCursor(1, 7)}

    table = SubmissionTable("VOC2007", EVIL, ("val", "test"), ("detection",), ROWS, "x", is_viewed=False)
    words = {
        "words": "text=a",
        "older": "?after=x",
        "states": list(RowState),
        "columns": list(SubmissionColumn),
    }
    context = {
        **words,
        "actions": list(Bulk),
        "query": TableQuery(text=EVIL, columns=tuple(SubmissionColumn), team=3),
    }
    yield "organisers/submissions.html", {**context, "table": table}
    yield "organisers/submissions.html", {**context, "table": replace(table, is_viewed=True), "older": None}
    bare = {**context, "query": TableQuery(), "words": "", "older": None}
    yield "organisers/submissions.html", {**bare, "table": replace(table, rows=(), next=None)}

    for action in Bulk:
        plan = Plan("VOC2007", EVIL, action, (ROW, replace(ROW, result=8)), (Skipped(INVALID, EVIL),))
        asked = {
            "reason": EVIL,
            "problems": {"reason": EVIL},
            "is_done": False,
            "asks_reason": action in WITH_REASON,
        }
        yield "organisers/bulk.html", {**asked, "plan": plan}
    done = {"reason": "", "problems": {}, "is_done": True, "asks_reason": False}
    yield "organisers/bulk.html", {**done, "plan": plan}
    yield "organisers/bulk.html", {**done, "plan": replace(plan, rows=(), skipped=())}
    yield from _of_teams()
    yield "view.html", {"view": View(1, "VOC2007", EVIL, is_visitor=False)}


def _of_teams() -> Iterator[Sample]:
    row = TeamRow(7, EVIL, EVIL, 2, 30, NOW, Approval.WAITING, EVIL, NOW, EVIL, hides_results=True)
    member = TeamMember(7, EVIL, EVIL, is_owner=True, joined_at=NOW)
    slot = SlotView(1, EVIL, "detection", EVIL, EVIL, NOW, NOW, False, None, None, "test")
    slots = (
        slot,
        replace(slot, is_expired=True),
        replace(slot, submission=3),
        replace(slot, taken_back_at=NOW),
    )
    use = QuotaUseOfPhase(PHASE, quota_lines(NOW, PHASE.quotas, ("detection",), Usage()), ("detection",))
    sheet = TeamSheet("VOC2007", EVIL, True, False, row, (member,), (use,), slots)
    nobody = replace(sheet, is_viewed=True, members=(), quotas=(), slots=slots[:1])
    calm = replace(row, suspended_at=None, approval=Approval.APPROVED)
    for each in (sheet, replace(sheet, is_viewed=True), replace(nobody, team=calm, approves_teams=False)):
        yield "approvals/team.html", {"sheet": each, "list": each}
