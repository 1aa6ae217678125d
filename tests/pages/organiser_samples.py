"""Samples of the organisers' pages."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.pictures_from import UNSAID
from app.challenges.rules import shown_of_scores
from app.core.access import View
from app.evaluation.rescoring import UndecidedCursor
from app.intake.reports import (
    ClassChanges,
    ClassCount,
    Renamed,
    Shift,
    VersionComparison,
    VersionDiff,
)
from app.intake.version_diffs import DiffView
from app.models import Approval, ChallengeVisibility
from app.organising.applied_versions import AppliedVersion, RequestedCopy, VersionSheet
from app.organising.approvals import QuotaUseOfPhase, TeamMember, TeamRow, TeamSheet
from app.organising.bulk import WITH_REASON, Bulk, Plan, Skipped
from app.organising.deleting import Deletion, Part
from app.organising.overview import (
    Asked,
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
from app.organising.previews import BoardSummary, Preview, PreviewRow, PreviewState, RescoreState
from app.organising.settings import FIELDS, SettingsView
from app.organising.submissions import RowState, SubmissionColumn, SubmissionTable, TableQuery, TableRow
from app.submissions.quotas import SlotView, Usage, quota_lines
from tests.pages.draft_samples import DRAFTS
from tests.pages.drawn import EVIL
from tests.pages.label_samples import SHOWN as DRAWN
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


STRIPS = dict.fromkeys(range(9), ("/pictures/a/b/c/thumbnail.jpg?v=1",))


def _of_no_challenge() -> Iterator[Sample]:
    """Somebody who organises nothing, and a challenge that is about to be deleted."""
    for may_create in (True, False):
        yield "organisers/challenges.html", {"cards": Cards((), lacks_worker=False), "may_create": may_create}
    parts = (Part("upload", 2, 1234), Part("team", 3))
    deletion = Deletion("VOC2007", EVIL, parts, 1234, (), 17)
    typed = {"form": {"code": EVIL}, "problems": {"code": EVIL}}
    yield "organisers/delete.html", {"plan": deletion, **typed}
    refused = replace(deletion, refusals=(EVIL, EVIL))
    yield "organisers/delete.html", {"plan": refused, "form": {}, "problems": {}, "refused": (EVIL,)}


def of_organisers(phases: tuple[OrganiserPhase, ...]) -> Iterator[Sample]:
    needs = needs_of("VOC2007", phases, 2, MailState(is_away=True, undelivered=3), Asked(4, 2))
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
    settings = SettingsView(
        challenge="VOC2007", version=2, **dict.fromkeys(FIELDS, EVIL), visibility=ChallengeVisibility.LISTED, approves_teams=True,
        most_members=3, has_terms=True, pictures=UNSAID, packed=(EVIL,), phases=views, archived_at=None, is_owner=True,
    )  # fmt: skip
    form = {name: getattr(settings, name) for name in (*FIELDS, "version")}
    shown = {"form": form, "theirs": {}, "saved": False, "kept": ()}
    few = replace(
        settings,
        approves_teams=False,
        most_members=None,
        has_terms=False,
        packed=(),
        phases=(),
        is_owner=False,
    )
    yield "organisers/settings.html", {"view": settings, **shown, "problems": dict.fromkeys(FIELDS, EVIL)}
    yield "organisers/settings.html", {"view": few, **shown, "saved": True}
    yield "organisers/settings.html", {"view": replace(settings, archived_at=NOW), **shown, "kept": (EVIL,)}
    yield (
        "organisers/settings.html",
        {"view": settings, **shown, "refused": (EVIL,), "theirs": {"title": EVIL}},
    )
    idle = replace(card, is_viewed=True, is_draft=True, needs=(), phases=())
    cards = Cards((card, idle), lacks_worker=True)
    yield "organisers/challenges.html", {"cards": cards, "may_create": True}
    yield from _of_no_challenge()

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
        AppliedVersion(2, NOW, EVIL, None, False, True, EVIL, 1, 70, 90, 3),
        AppliedVersion(1, NOW, "", NOW, is_shown=True, is_newest=False),
    )
    versions = {row.phase.id: applied for row in phases}
    listed = PhaseList("VOC2007", EVIL, is_viewed=False, phases=phases, lacks_worker=True, versions=versions)
    nothing = replace(listed, phases=(), lacks_worker=False)
    copies = (
        *(RequestedCopy(1, EVIL, NOW, message) for message in ("", EVIL)),
        RequestedCopy(1, EVIL, NOW, "", is_corrected=True),
    )
    listed = replace(listed, copies={row.phase.id: copies[0] for row in phases})
    for copy in (None, *copies):
        for version, other in (applied, applied[::-1]):
            sheet = VersionSheet(phases[0].phase, version, (ClassCount(EVIL, 7, 9, 1),), (other,), copy)
            yield "organisers/version.html", {"view": sheet}
    compared = VersionComparison("", EVIL, 1, images_gone=2, classes_renamed=(Renamed(EVIL, "b"),), moved=7)
    changed = VersionDiff(compared, (ClassChanges(EVIL, 7),), Shift(1.5, 9.0, 0.9, 0.5))
    unchanged = VersionDiff(VersionComparison("", EVIL, 1), (), None)
    diff = DiffView(phases[0].phase, 1, 2)
    for found in (changed, unchanged):
        for pictures in DRAWN:
            yield (
                "organisers/changes.html",
                {"view": replace(diff, found=found, until=NOW), "shown": pictures},
            )
    for answer in (diff, replace(diff, is_waiting=True), replace(diff, message=EVIL)):
        yield "organisers/changes.html", {"view": answer, "shown": DRAWN[0]}
    for page in ("organisers/phases.html", "organisers/ground_truth.html"):
        for phase_list in (listed, replace(listed, is_viewed=True), nothing):
            yield (
                page,
                {
                    "view": phase_list,
                    "strips": STRIPS,
                    "following": UndecidedCursor(1, 7),
                    "shown_of_scores": shown_of_scores,
                },
            )

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


def of_previews(row: OrganiserPhase) -> Iterator[Sample]:
    board = BoardSummary(3, "Detection, given data", methods=4, changed=2, moved=1, failed=1, waiting=1)
    method = PreviewRow(EVIL, 7, EVIL, 4, False, PreviewState.SCORED, 0.648, 0.7, 2, 1)
    methods = (
        method,
        replace(method, new_rank=2, is_public=True),
        *(replace(method, state=state, new=None, new_rank=None) for state in PreviewState),
    )
    assert row.rescore is not None
    ready = replace(row.rescore, done=row.rescore.total, failed=0, undecided=(), next=None)
    head = Preview(7, RescoreState.OPEN, row.phase, 2, 1, EVIL, EVIL, None)
    known = replace(
        head, rescore=ready, seen="abc", boards=(board,), competition=3, rows=methods, page=2, pages=3, late=1
    )  # fmt: skip
    for view in (
        known,
        replace(known, only_moved=True, rows=()),
        replace(known, rescore=row.rescore, refusal=EVIL, rows=(), pages=1, page=1),
        replace(known, rescore=replace(row.rescore, paused_at=NOW, seconds=300, next=9), refusal=EVIL),
        replace(known, rescore=replace(ready, confirmed_at=NOW), refusal=EVIL, version=1, requested_by=""),
        replace(known, boards=(), competition=None, rows=()),
        replace(head, state=RescoreState.PUBLISHED, ended_at=NOW),
        replace(head, state=RescoreState.PUBLISHED, ended_at=NOW, confirmed_by=""),
        replace(head, state=RescoreState.DISCARDED, ended_at=NOW),
    ):
        yield "organisers/preview.html", {"view": view, "following": None, "refused": (EVIL,)}


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
    sheet = TeamSheet("VOC2007", EVIL, True, False, row, (member,), (use,), slots, 2, NOW)
    nobody = replace(sheet, is_viewed=True, members=(), quotas=(), slots=slots[:1])
    calm = replace(row, suspended_at=None, approval=Approval.APPROVED)
    for each in (sheet, replace(sheet, is_viewed=True), replace(nobody, team=calm, approves_teams=False)):
        yield "approvals/team.html", {"sheet": each, "list": each}
