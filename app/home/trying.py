"""Try it now: a visitor has the server submit an archive of its own to a copy of the sample, and follows it to its score.

The copy is a draft, so that what is submitted to it is a test run: it is on no board, and a sweep deletes it after a day. Nobody
sends anything, and all visitors share one queue: an archive at a time, and a few a minute.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
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
from app.core.access import TRIED, Actor
from app.core.errors import ConflictError, DomainError, NotFoundError, RefusedError
from app.images import overlays, viewer
from app.images.viewer import Mark, ViewerChoice, ViewerPage
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

log = structlog.get_logger()

SAMPLE: Final = "sample"  # sample.NAME, without what draws it
IMAGE_SET: Final = "val"
COMPETITION: Final = 3
METHOD: Final = "WindowShopper"  # sample.TRYING
ARCHIVE: Final = f"{METHOD}.tar.gz"
ACCOUNT: Final = "lantern@localhost"  # of its team
MOST_A_MINUTE: Final = 6
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
    """Return the image of the sample in which its leading method finds most classes, with what it found; None before it is drawn."""
    with platform.snapshot() as session:
        phase = challenges.phase_of(session, SAMPLE, IMAGE_SET)
        runs = overlays.runs_on_boards(session, phase.id, BoardReaders.PUBLIC) if phase else []
    leading = next((run.run_id for run in runs if run.competition == COMPETITION), None)
    examples = overlays.examples(platform, leading) if leading is not None else None
    found = Counter(
        image for each in examples or () for image in {example.image for example in each.lists[0]}
    )
    if leading is None or not found:
        return None
    image = min(found, key=lambda name: (-found[name], name))
    choice = ViewerChoice(COMPETITION, (leading,))
    try:
        page = viewer.viewer(platform, Actor(), SAMPLE, IMAGE_SET, image, choice)
    except DomainError:  # visitors may not see the images
        return None
    if not page.panels or not page.panels[-1].marks:
        return None
    panel = page.panels[-1]
    marks = tuple(legible(panel.marks, page.picture.width or 0))
    return replace(page, panels=(*page.panels[:-1], replace(panel, marks=marks)))


def legible(marks: Iterable[Mark], width: int) -> Iterator[Mark]:
    """Yield marks without confidence, and without a label where it would lie on another. width: of the image."""
    line, letter = width / 28, width / 48  # as the template writes them
    placed: list[tuple[float, float, float]] = []
    for mark in marks:
        length = letter * len(mark.label)
        left = min(mark.x + mark.width, width) - length if mark.x > 0.7 * width else max(mark.x, 0)
        top = max(mark.y, 0)
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
