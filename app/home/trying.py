"""Try it now: a visitor has the server submit an archive of its own to a copy of the sample, and follows it to its score.

The copy is a draft, so that what is submitted to it is a test run: it is on no board, and a sweep deletes it after a day. Nobody
sends anything, and all visitors share one queue: an archive at a time, and a few a minute.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog
from anyio import from_thread
from sqlalchemy import Connection, func, select, text
from sqlalchemy.orm import Session

from app.boards.boards import BoardReaders, is_shown_to
from app.challenges import challenges
from app.challenges.challenges import description_of
from app.core.access import TRIED, Actor
from app.core.errors import ConflictError, DomainError, NotFoundError, RefusedError
from app.images import viewer
from app.images.drawing import DrawnPrediction
from app.images.viewer import Mark, Panel, ViewerChoice, ViewerPage
from app.intake import testing
from app.jobs import heartbeats
from app.models import (
    Board,
    Challenge,
    ChallengeVisibility,
    Method,
    Phase,
    Result,
    ResultState,
    Submission,
    Upload,
)
from app.people import sessions, teams
from app.platform import Platform
from app.results import submissions
from app.results.details import DetailRequest
from app.results.recording import is_on_board
from app.results.submissions import SubmissionView
from app.submissions import receiving, submitting
from app.submissions.methods import NewMethod, Training
from app.submissions.submitting import NewSubmission
from app.submissions.uploads import UploadMetadata
from app.web.charts.shapes import Figure
from heldout_scoring import (
    VOC2012,
    BoxConvention,
    Description,
    Detections,
    GroundTruth,
    evaluate,
)
from heldout_scoring.evaluation import read_predictions

log = structlog.get_logger()

SAMPLE: Final = "sample"  # sample.NAME, without what draws it
IMAGE_SET: Final = "val"
COMPETITION: Final = 3
METHOD: Final = "WindowShopper"  # sample.TRYING
ARCHIVE: Final = f"{METHOD}.tar.gz"
ACCOUNT: Final = "lantern@localhost"  # of its team
MOST_A_MINUTE: Final = 6
MOST_LOOKED_AT: Final = 12  # images of which one is shown
LEAST_CONFIDENCE: Final = 0.5  # of what is drawn
KEPT: Final = timedelta(days=1)
EVERY: Final = timedelta(hours=1)  # between two looks for what is older
LOCK: Final = 0x5452_5949  # advisory lock: one submission at a time


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A method on the leaderboard of the sample. mean: in [0, 1]."""

    name: str
    mean: float


@dataclass(frozen=True, slots=True)
class Tried:
    """The newest test run. above, below: the neighbours on the sample's leaderboard that its score would have.

    curves: of two of its classes, once it is scored.
    """

    submission: SubmissionView
    above: Neighbour | None = None
    below: Neighbour | None = None
    place: int | None = None
    methods: int = 0  # on the leaderboard
    curves: Figure | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.submission.is_final


def is_offered(platform: Platform, code: str = SAMPLE) -> bool:
    """Whether visitors of this challenge can try it: it is the sample, they see it, and the operator leaves it on."""
    if code != SAMPLE:
        return False
    with platform.transaction() as session:
        return _copy(platform, session) is not None


def archive_of(platform: Platform) -> Path:
    """Return where the archive is that is submitted, which was drawn with the sample."""
    return platform.settings.data / SAMPLE / "results" / f"{METHOD}_comp{COMPETITION}_{IMAGE_SET}.tar.gz"


def _copy(platform: Platform, session: Session) -> int | None:
    """Return the id of the copy, as long as it is a draft and everybody may see the sample."""
    if not (platform.settings.try_it_now and archive_of(platform).exists()):
        return None
    by_code = {
        each.code: each
        for each in session.scalars(select(Challenge).where(Challenge.code.in_((SAMPLE, TRIED))))
    }
    sample, row = by_code.get(SAMPLE), by_code.get(TRIED)
    is_seen = sample is not None and sample.visibility in (
        ChallengeVisibility.LISTED,
        ChallengeVisibility.LINK,
    )
    is_draft = row is not None and row.visibility is ChallengeVisibility.DRAFT and row.opened_at is None
    return row.id if row is not None and is_draft and is_seen else None


def _require(platform: Platform, session: Session) -> int:
    """Return the id of the copy. Raises NotFoundError if nothing can be tried."""
    if (copy := _copy(platform, session)) is None:
        raise NotFoundError("There is nothing to try on this server")
    return copy


def submit(platform: Platform) -> None:
    """Submit the archive, unless one is on its way or a minute has had enough of them; the newest is shown then.

    Call it in a thread of a request. Raises NotFoundError.
    """
    with platform.transaction() as session:
        copy = _require(platform, session)
    with _only_one(platform) as is_mine:
        if is_mine and _has_room(platform, copy):
            try:
                _submit(platform, copy)
            except (ConflictError, RefusedError) as refused:
                log.info("not tried", reason=str(refused))


@contextmanager
def _only_one(platform: Platform) -> Iterator[bool]:
    """Hold the lock of all processes for the block; False if somebody else has it."""
    with platform.engine.connect() as connection:
        is_mine = _ask(connection, "SELECT pg_try_advisory_lock(:lock)")
        try:
            yield is_mine
        finally:
            if is_mine:
                _ask(connection, "SELECT pg_advisory_unlock(:lock)")


def _ask(connection: Connection, question: str) -> bool:
    answer = bool(connection.scalar(text(question), {"lock": LOCK}))
    connection.commit()
    return answer


def _has_room(platform: Platform, copy: int) -> bool:
    a_minute_ago = func.clock_timestamp() - timedelta(minutes=1)
    of_copy = select(func.count()).select_from(Upload).join(Upload.phase).where(Phase.challenge_id == copy)
    waiting = (
        select(Result.id)
        .join(Result.phase)
        .where(Phase.challenge_id == copy, Result.state == ResultState.PENDING)
    )
    with platform.transaction() as session:
        recent = session.scalar(of_copy.where(Upload.started_at > a_minute_ago)) or 0
        return recent < MOST_A_MINUTE and session.scalar(waiting.limit(1)) is None


def _submit(platform: Platform, copy: int) -> None:
    content = archive_of(platform).read_bytes()

    async def chunks() -> AsyncIterator[bytes]:
        yield content

    metadata = UploadMetadata(ARCHIVE, len(content))
    upload = from_thread.run(
        receiving.send, platform, _actor(platform, copy), (TRIED, IMAGE_SET), metadata, chunks()
    )
    new = NewSubmission(
        upload=upload.id,
        method=NewMethod(name=METHOD),
        competitions=(COMPETITION,),
        training=Training(given_data_only=True),
    )
    submitting.confirm(platform, _actor(platform, copy), new)


def _actor(platform: Platform, copy: int) -> Actor:
    """The made-up team, which may do this to the copy and nothing to anything else."""
    with platform.transaction() as session:
        user = sessions.user_of_email(session, ACCOUNT)
        if user is None:
            raise NotFoundError("There is nothing to try on this server")
        team = teams.team_in(session, user.id, copy)
    own = frozenset({team}) if team is not None else frozenset[int]()
    return Actor(user.id, teams=own, is_verified=True, organises=frozenset({copy}))


def newest(platform: Platform) -> Tried | None:
    """Return the newest test run; None before the first. Raises NotFoundError."""
    statement = select(Submission.id).join(Submission.phase).order_by(Submission.id.desc()).limit(1)
    with platform.transaction() as session:
        copy = _require(platform, session)
    actor = _actor(platform, copy)
    own = statement.where(Phase.challenge_id == copy, Submission.user_id == actor.user_id)
    with platform.transaction() as session:
        number = session.scalar(own)
    if number is None:
        return None
    view, detail = submissions.detailed_page(platform, actor, number, DetailRequest())
    tried = Tried(view, curves=detail.curves if detail else None)
    mean = view.results[0].shown.headline
    return tried if mean is None else _placed(platform, tried, mean)


def illustration(platform: Platform) -> ViewerPage | None:
    """Return an image of the sample with what the archive says of it, most of it right; None before it is drawn."""
    with platform.snapshot() as session:
        phase = challenges.phase_of(session, SAMPLE, IMAGE_SET)
    if phase is None:
        return None
    found = _found(archive_of(platform), description_of(platform.descriptions, phase.description_key))
    most = sorted(found, key=lambda name: (-len({each.name for each in found[name]}), name))[:MOST_LOOKED_AT]
    drawn = filter(None, (_drawn(platform, name, found[name]) for name in most))
    return max(drawn, key=_right, default=None)


def _found(archive: Path, description: Description) -> dict[str, list[DrawnPrediction]]:
    """Read the predictions that are sure enough to be drawn, by image."""
    found: dict[str, list[DrawnPrediction]] = defaultdict(list)
    for each in read_predictions(archive, description, COMPETITION):
        detections = each.value.where(each.value.confidence >= LEAST_CONFIDENCE).to(BoxConvention.HALF_OPEN)
        columns = (detections.image.tolist(), detections.confidence.tolist(), detections.boxes.tolist())
        for image, confidence, box in zip(*columns, strict=True):
            found[description.images[image].id].append(DrawnPrediction(each.key, confidence, tuple(box)))
    return found


def _drawn(platform: Platform, image: str, found: Sequence[DrawnPrediction]) -> ViewerPage | None:
    try:
        page = viewer.viewer(platform, Actor(), SAMPLE, IMAGE_SET, image, ViewerChoice(COMPETITION))
    except DomainError:  # visitors may not see the images
        return None
    if not page.panels or not page.panels[0].marks:
        return None
    matched = matched_with(found, page.panels[0].marks)
    marks, lines = viewer.draw_predictions(matched, len(matched))
    shown = tuple(legible(marks, page.picture.width or 0))
    return replace(page, panels=(Panel(METHOD, None, shown, lines, None, None),))


def _right(page: ViewerPage) -> int:
    return sum({"hit": 1, "false": -1}.get(mark.kind, 0) for mark in page.panels[0].marks)


def matched_with(found: Iterable[DrawnPrediction], truth: Sequence[Mark]) -> tuple[DrawnPrediction, ...]:
    """Match the predictions for an image with its annotation; return them with their outcomes, most confident first."""
    ordered = sorted(found, key=lambda each: -each.confidence)
    classes = sorted({*(each.name for each in ordered), *(mark.label for mark in truth)})
    objects = GroundTruth.from_arrays(
        [0] * len(truth),
        [classes.index(mark.label) for mark in truth],
        [(mark.x, mark.y, mark.x + mark.width, mark.y + mark.height) for mark in truth],
        convention=BoxConvention.HALF_OPEN,
        difficult=["hard" in mark.kind for mark in truth],
        images=["image"],
        classes=classes,
    )
    detections = Detections.from_arrays(
        [0] * len(ordered),
        [classes.index(each.name) for each in ordered],
        [each.confidence for each in ordered],
        [each.box for each in ordered],
        convention=BoxConvention.HALF_OPEN,
        images=["image"],
        classes=classes,
    )
    matches = evaluate(detections, objects, protocol=VOC2012).matches
    ranked = matches if isinstance(matches, tuple) else ()
    outcomes = {each.class_name: iter(each.outcomes.tolist()) for each in ranked}
    return tuple(replace(each, outcome=next(outcomes[each.name])) for each in ordered)


def legible(marks: Iterable[Mark], width: int) -> Iterator[Mark]:
    """Yield marks without confidence, and without a label where it would lie on another. width: of the image."""
    line, letter = width / 28, width / 48  # as the template writes them
    placed: list[tuple[float, float, float]] = []
    for mark in marks:
        length = letter * len(mark.label)
        left = min(mark.x + mark.width, width) - length if mark.x > 0.7 * width else max(mark.x, 0)
        top = mark.y - line if mark.y >= line else max(mark.y, 0)
        is_free = all(
            left + length <= other_left or other_right <= left or abs(top - other_top) >= line
            for other_left, other_right, other_top in placed
        )
        if is_free:
            placed.append((left, left + length, top))
        yield replace(mark, confidence=None, label=mark.label if is_free else "")


def _placed(platform: Platform, tried: Tried, mean: float) -> Tried:
    """Add between which methods of the sample's leaderboard a mean is."""
    with platform.transaction() as session:
        phase = challenges.phase_of(session, SAMPLE, IMAGE_SET)
        if phase is None:
            return tried
        rows = session.execute(
            select(Method.name, Result.rank_key)
            .select_from(Result)
            .join(Board, is_on_board())
            .join(Result.method)
            .join(Result.submission)
            .where(
                Result.phase_id == phase.id,
                Result.competition == COMPETITION,
                is_shown_to(BoardReaders.PUBLIC),
            )
            .order_by(Result.rank_key.desc(), Result.id)
        ).all()
    others = [Neighbour(name, key / 1000) for name, key in rows if key is not None and key >= 0]
    better = [each for each in others if each.mean > mean]
    worse = others[len(better) :]
    return replace(
        tried,
        above=better[-1] if better else None,
        below=worse[0] if worse else None,
        place=len(better) + 1,
        methods=len(others),
    )


def delete_old(platform: Platform) -> None:
    """Delete the test runs once the oldest of them is a day old, with everything that they left."""
    with platform.transaction() as session:
        if not heartbeats.start_if_due(session, "tried", EVERY):
            return
        copy = session.scalar(select(Challenge).where(Challenge.code == TRIED).with_for_update())
        if copy is None or copy.visibility is not ChallengeVisibility.DRAFT or copy.opened_at is not None:
            return
        of_copy = Phase.challenge_id == copy.id
        oldest = session.scalar(select(func.min(Upload.started_at)).join(Upload.phase).where(of_copy))
        if oldest is None or oldest > challenges.now(session) - KEPT:
            return
        deleted = testing.delete_all(session, None, copy)
    testing.remove_contents(platform, deleted)
