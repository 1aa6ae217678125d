"""Rows and reports as pages receive them, with markup in names, ties, blanks and many problems."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import heldout_scoring
from app.boards.pages import page_context
from app.boards.rows import (
    BoardControls,
    BoardLink,
    BoardPage,
    BoardRow,
    BoardTeam,
    BoardView,
    ScoreCell,
    filters_of,
    scale_of,
    segments,
)
from app.boards.selections import BoardQuery, TrainingData, column_groups
from app.challenges.asking import AskedQuestion, Asking
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseState
from app.core.access import Actor
from app.evaluation.rescoring import RescoreView, UndecidedRun
from app.jobs.places import Outlook
from app.models import Disclosure, QuestionKind, Quota, ResultState, Role, RunState, ThreadState, UploadState
from app.organising.overview import OrganiserPhase
from app.people.teams import FirstTeam
from app.results.exhibits import ClassValue
from app.results.submissions import RunView, SubmissionResult, SubmissionView
from app.submissions.consequences import Consequence
from app.submissions.methods import KnownMethod, MethodView
from app.submissions.questions import AnsweredQuestion, QuestionView
from app.submissions.submit_page import Confirmation, ExpectedFiles, SubmitPage
from app.submissions.uploads import CheckState, SameResult, UploadRow, UploadView
from tests.pages.drawn import CLASSES, EVIL

NOW = datetime(2026, 11, 21, 3, 14, 22, tzinfo=UTC)

PHASE = PhaseView(
    id=1,
    challenge_id=1,
    challenge="VOC2007",
    challenge_title="PASCAL VOC 2007",
    dataset="VOC2007",
    image_set="test",
    disclosure=Disclosure.CLASSES,
    details_at_close=False,
    only_complete=False,
    is_over=False,
    protocol="voc2007",
    description_key="d",
    opens_at=NOW - timedelta(days=30),
    closes_at=NOW + timedelta(days=7),
    grace=timedelta(hours=1),
    quotas=(Quota(3, 7), Quota(30, 365)),
    state=PhaseState.OPEN,
)
VAL = replace(PHASE, id=2, image_set="val", disclosure=Disclosure.FULL, closes_at=None, quotas=())
METHOD = MethodView(
    1,
    "LEAR_flat",
    EVIL,
    "A. Author, B. Author",
    "Somewhere",
    f"One\nparagraph {EVIL}",
    "https://example.org/paper",
    "",
    is_baseline=True,
    public_at=NOW,
)
PARTICIPANT = Actor(user_id=1, teams=frozenset({1}), name=EVIL, email="ada@example.org", is_verified=True)
ORGANISER = replace(PARTICIPANT, role=Role.ADMIN, has_second_factor=True, unread=100)


def _value(name: str, value: float, index: int) -> ClassValue:
    return ClassValue(name, value, value * 0.97, value * 1.02, positives=100 + index, predictions=12032)


def values(best: float = 0.9, blank: str = "sofa") -> tuple[ClassValue, ...]:
    return tuple(
        ClassValue(name, None, reason="not entered")
        if name == blank
        else _value(name, best * (1 - index / 25), index)
        for index, name in enumerate(CLASSES)
    )


def run(state: RunState, **changes: Any) -> RunView:
    begun, ended = state is not RunState.QUEUED, state not in (RunState.QUEUED, RunState.RUNNING)
    scored = state is RunState.SCORED
    known = RunView(
        id=7,
        state=state,
        attempt=1,
        queued_at=NOW - timedelta(seconds=50),
        claimed_at=NOW - timedelta(seconds=20) if begun else None,
        finished_at=NOW if ended else None,
        failure_message=None if not ended or scored else f"comp3_det_test_car.txt:1: {EVIL}",
        position=None if begun else 2,
        wait_seconds=None if ended else 40,
        has_worker=True,
        protocol="voc2007",
        measure="AP (11 points)" if scored else None,
        ground_truth=1,
        scorer="1",
        receipt="ab" * 32 if scored else None,
        plain_receipt="cd" * 32 if scored else None,
        headline=0.648 if scored else None,
        headline_reason=None,
        low=0.631 if scored else None,
        high=0.662 if scored else None,
        classes=values(blank="") if scored else (),
        is_rescore=False,
    )
    return replace(known, **changes)


def submission(*runs: RunView, final: bool = True) -> SubmissionView:
    states = {
        RunState.SCORED: ResultState.SCORED,
        RunState.REFUSED: ResultState.REFUSED,
        RunState.FAILED: ResultState.FAILED,
    }
    results = tuple(
        SubmissionResult(
            number,
            number,
            "Detection",
            states.get(each.state, ResultState.PENDING),
            number == 1,
            each,
            runs=number,
            withdrawn_at=None,
            withdraw_reason=None,
            can_withdraw=number == 1,
            can_cancel=each.state is RunState.QUEUED,
            can_refund=number == 1,
            refunded_at=NOW if number == 2 else None,
            refund_reason=EVIL,
        )
        for number, each in enumerate(runs, start=1)
    )
    return SubmissionView(
        id=12,
        challenge="VOC2007",
        challenge_title=f"VOC {EVIL}",
        image_set="test",
        method=METHOD,
        training_data=f"ImageNet {EVIL}",
        team="Oak",
        team_id=7,
        upload_id=uuid.UUID(int=7),
        filename=f"results_{EVIL}.tar.gz",
        size=305 * 1024**2,
        sha256="cd" * 32,
        received_at=NOW - timedelta(minutes=3),
        checked_at=NOW - timedelta(minutes=2),
        created_at=NOW - timedelta(minutes=1),
        results=results,
        is_ours=True,
        may_download=True,
        is_organised=False,
        is_member=True,
        can_make_public=False,
        beyond_public=True,
        withheld=EVIL,
        unpublishable=None,
        is_final=final,
    )


def withdrawn() -> SubmissionView:
    """A submission of a private method, withdrawn before it was scored."""
    view = submission(run(RunState.ABANDONED))
    [result] = view.results
    gone = replace(
        result, state=ResultState.WITHDRAWN, withdrawn_at=NOW, withdraw_reason=EVIL, can_withdraw=False
    )
    private = replace(METHOD, public_at=None)
    return replace(view, results=(gone,), method=private, can_make_public=True)


def cancelled(reason: str | None = None) -> SubmissionView:
    """A submission that its team cancelled before a worker started it, or an organiser with a reason."""
    view = withdrawn()
    [result] = view.results
    return replace(view, results=(replace(result, cancelled_at=NOW, withdraw_reason=reason),))


def fault(code: str, file: str | None, line: int | None) -> dict[str, Any]:
    return {
        "code": code,
        "message": f"expected 6 fields, found {EVIL}",
        "file": file,
        "line": line,
        "found": "5",
        "expected": "6",
        "text": EVIL,
    }


def report(*, valid: bool) -> dict[str, Any]:
    problems = [fault("field-count", "comp3_det_test_car.txt", line) for line in range(1, 21)]
    problems += [fault("unknown-image", f"comp3_det_test_{EVIL}.txt", None), fault("no-results", None, None)]
    return {
        "valid": valid,
        "competitions": [
            {
                "number": 3,
                "task": "detection",
                "files": 20,
                "lines": 12032,
                "present": CLASSES,
                "missing": [],
            },
            {
                "number": 4,
                "task": "detection",
                "files": 1,
                "lines": 0,
                "present": ["car"],
                "missing": CLASSES[8:],
            },
        ],
        "problems": [] if valid else problems,
        "notes": [fault("extra-folder", "results/.DS_Store", None)],
        "unlisted": {"extra-folder": 7} if valid else {"field-count": 1022},
        "members": 21,
        "unpacked": 1536,
    }


def upload(state: UploadState, *, valid: bool | None = None) -> UploadView:
    checked = state is UploadState.CHECKED
    return UploadView(
        id=uuid.UUID(int=5),
        challenge="VOC2007",
        image_set="test",
        filename=f"results_{EVIL}.tar.gz",
        size=2048,
        received=1024,
        sha256="cd" * 32 if checked else None,
        state=state,
        valid=valid,
        report=report(valid=bool(valid)) if checked else None,
        started_at=NOW,
        checked_at=NOW if checked else None,
        expires_at=NOW + timedelta(days=2),
        expected_sha256=None,
        only_competitions=None,
        submissions=[],
        same_content=[7, 12] if valid else [],
        is_ours=True,
        may_download=True,
        check=CheckState.RUNNING if state is UploadState.RECEIVED else None,
        same_predictions=(SameResult(3, 9, 3), SameResult(3, 10, 4)) if valid else (),
    )


def upload_row(state: UploadState, *, valid: bool) -> UploadRow:
    return UploadRow(
        id=uuid.uuid5(uuid.NAMESPACE_URL, f"{state} {valid}"),
        challenge="VOC2007",
        image_set="test",
        filename=f"results_{EVIL}.tar.gz",
        size=2048,
        received=1024,
        state=state,
        valid=valid,
        problems=None if valid else 12,
        started_at=NOW,
        expires_at=NOW + timedelta(days=2),
        submissions=[7] if valid else [],
        methods=[EVIL] if valid else [],
        check=CheckState.TURN if state is UploadState.RECEIVED else None,
    )


QUESTIONS = tuple(
    QuestionView(
        place, f"{kind.value} {EVIL}", kind, "ms" if kind == "number" else "", choices, True, True, True
    )
    for place, (kind, choices) in enumerate(
        (
            (QuestionKind.NUMBER, ()),
            (QuestionKind.TEXT, ()),
            (QuestionKind.LINK, ()),
            (QuestionKind.YES_NO, ()),
            (QuestionKind.CHOICE, (EVIL, "other")),
        ),
        7,
    )
)


def confirmation(**changes: Any) -> Confirmation:
    """What follows from submitting a valid upload under the name of a known method."""
    made = Confirmation(
        names=("LEAR_flat", EVIL),
        known=KnownMethod(
            METHOD, (AnsweredQuestion(QUESTIONS[0], "12"), AnsweredQuestion(QUESTIONS[2], None))
        ),
        questions=QUESTIONS,
        shortest_description=500,
        quota=(),
        consequences=(
            Consequence("No predictions for dog: these classes stay blank."),
            Consequence(EVIL),
            Consequence("The next one is free", NOW),
        ),
        name_refusals=(EVIL,),
        refusals=(),
    )
    return replace(made, **changes)


def submitting(
    view: UploadView | None = None, asked: Confirmation | None = None, **changes: Any
) -> dict[str, Any]:
    """The context of the page to submit on, with what somebody has sent before if there is a confirmation."""
    page = SubmitPage(
        phase=PHASE,
        others=() if view else (EVIL,),
        competitions=tuple(ExpectedFiles(each, EVIL) for each in heldout_scoring.competitions("VOC2007")),
        quota=(),
        largest=1 << 30,
        limits=heldout_scoring.Limits(),
        contact=EVIL,
        asking=Asking(asked=(AskedQuestion(1, EVIL, ThreadState.ANSWERED),)),
        outlook=Outlook(3, True, 120),
        first_team=FirstTeam(3, EVIL) if view else None,
        upload=view,
        confirmation=asked,
    )
    form = {
        "competition": (3, 4),
        "given_data_only": True,
        "no_excluded_data": True,
        "annotation": EVIL,
        "method": EVIL,
        "make_public": True,
        "description": EVIL,
        "answer-7": EVIL,
    }
    return {
        "page": page,
        "quota_text": "1 left of 3 detection results per 7 days",
        "refused": (),
        "rules": {3: "trained on the given images only", 4: EVIL},
        "given_data": [each for each in heldout_scoring.competitions("VOC2012") if each.number in {3, 5}],
        "other_data": [each for each in heldout_scoring.competitions("VOC2012") if each.number == 4],
        "annotations": ("segmentations", EVIL),
        "key": "k",
        "call": EVIL,
        "form": form,
        "problems": {},
    } | changes


def board(methods: int, **changes: Any) -> BoardView:
    rows = tuple(
        BoardRow(
            rank=None
            if place == methods - 1
            else max(place, 1),  # the first two share a rank, the last has none
            method=EVIL if place == 1 else f"Method_{place}_{'of_a_long_name' * (place % 3)}",
            title="" if place == 2 else "An attentive detector",
            contributors="" if place == 2 else "A. Author",
            affiliation="" if place == 2 else "Somewhere",
            description="" if place == 2 else "How it works. " * 12,
            is_baseline=place == 2,
            is_public=place != 3,
            is_outdated=place == 4,
            is_complete=place != 5,
            submission=place,
            team=BoardTeam(place, EVIL if place == 1 else "Oak", is_suspended=place == 6),
            mean=None if place == methods - 1 else 0.8 - place / 30,
            mean_best=place < 2,
            cells=tuple(
                ScoreCell(None, best=False)
                if place == methods - 1 and index in (3, 17)
                else ScoreCell(max(0.0, each.value or 0.0) * (1 - place / 15), best=place == 0)
                for index, each in enumerate(values(1.0, blank=""))
            ),
            date=NOW - timedelta(days=place),
            method_id=place + 1,
            paper_url="https://example.org/paper" if place == 1 else "",
            code_url="https://example.org/code" if place == 1 else "",
            training=(None, TrainingData.GIVEN, TrainingData.OTHER)[place % 3],
            training_data=EVIL if place == 1 else "ImageNet",
            low=0.1,
            high=0.9,
            group=None if place > 8 else "ab"[: 1 + place % 2],
            further=(ScoreCell(None if place > 2 else 0.7, second=place == 1),),
            is_alike=place % 2 == 1,
            answers=("12.5", None if place else EVIL, "https://example.org/card", "yes", EVIL),
            figure=None if place == methods - 1 else 0.5,
        )
        for place in range(methods)
    )
    known = BoardView(
        challenge="VOC2007",
        challenge_title="PASCAL VOC 2007",
        image_set="test",
        competition=3,
        title="Detection",
        name="Detection, given data",
        is_numbered=True,
        data_rule="trained on trainval only",
        measure="AP (11 points)",
        headline="mAP",
        further=("AP50",),
        protocol="voc2007",
        shows_newest=False,
        decimals=3,
        beyond_public=False,
        withheld=EVIL,
        classes=tuple(CLASSES),
        questions=QUESTIONS,
        rows=rows,
        sort="mean",
        descending=True,
        ground_truth=1,
        ground_truth_id=uuid.UUID(int=7),
        scorer="1",
        version=14,
        updated_at=NOW,
        rescoring=True,
        methods=methods,
        as_of=None,
    )
    return replace(known, **changes)


def drawn_board(board: BoardView, query: BoardQuery | None = None, **changes: Any) -> dict[str, Any]:
    """A board with the controls of its page."""
    asked = query or BoardQuery(sort=board.sort, descending=board.descending)
    link = BoardLink(board.image_set, board.competition, board.title, own_data=False, protocol=board.protocol)
    boards = (link, replace(link, competition=4, own_data=True), replace(link, image_set="val"))
    tasks, trainings, phases = segments(boards, link)
    known = BoardControls(
        phase=PHASE,
        challenge_phases=(VAL, PHASE),
        query=asked,
        classes=board.classes,
        teams=tuple({row.team.id: row.team for row in board.rows}.values()),
        tasks=tasks,
        trainings=trainings,
        phases=phases,
        filters=filters_of(asked, ()),
        groups=column_groups(board.classes),
        pages=1,
        listed=len(board.rows),
        has_classes=True,
        has_details=True,
        has_groups=bool(board.rows),
        scale=scale_of(board.rows),
    )
    return page_context(BoardPage(board, replace(known, **changes)))


def organised(phase: PhaseView = PHASE, **changes: Any) -> OrganiserPhase:
    failed = UndecidedRun(7, 8, 12, 3, EVIL, RunState.REFUSED, EVIL)
    damaged = replace(failed, run=8, state=RunState.QUEUED, damaged="stored archive")
    rescore = RescoreView(id=1, total=40, done=12, failed=3, created_at=NOW, undecided=(failed, damaged))
    known = OrganiserPhase(
        phase,
        40,
        3,
        1,
        failed=0,
        ground_truth=2,
        shown_ground_truth=1,
        rescore=rescore,
        not_offered={5: f"no label images {EVIL}"},
    )
    return replace(known, **changes)
