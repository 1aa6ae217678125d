"""The front page, and the lists of challenges and of leaderboards."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

from app.challenges import challenges, news
from app.challenges.challenges import PhaseState, PhaseView, offered_competitions
from app.challenges.news import AnnouncementView
from app.core.access import Actor
from app.core.errors import MalformedError, NotFoundError
from app.figures import published
from app.figures.published import PublishedLine
from app.home.home import ChallengeSummary, Representative, representative_images, shown_phase, summaries
from app.people import accounts
from app.platform import Platform
from app.results import leaders, standings
from app.results.leaders import BoardSummary, Counts
from app.results.standings import RecentSubmission

ARRIVALS: Final = 8  # submissions on the front page
ANNOUNCED: Final = 3  # announcements on it
MOST_PICTURED: Final = 12  # challenges that are shown with pictures, the newest
PICTURES: Final = 3  # of a challenge
PICTURES_FRESH: Final = 60.0  # seconds for which the choice of pictures is cached
MAIN_TASK: Final = "detection"  # whose board stands for a challenge that has one


class ChallengeState(enum.StrEnum):
    """Whether a challenge accepts results now, in any of its phases."""

    OPEN = "open"
    UPCOMING = "upcoming"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ChallengeCard(ChallengeSummary):
    """A challenge as a card.

    deadline: when the first of its open phases closes, None for never; main_board: the board that stands for it, None if none
    has a public result; pictures: of its public images.
    """

    state: ChallengeState = ChallengeState.CLOSED
    deadline: datetime | None = None
    tasks: tuple[str, ...] = ()
    methods: int = 0
    last_result: datetime | None = None
    main_board: BoardSummary | None = None
    pictures: tuple[Representative, ...] = ()


@dataclass(frozen=True, slots=True)
class ChallengeList:
    """The challenges that a filter leaves, with everything that one can filter by."""

    challenges: tuple[ChallengeCard, ...]
    total: int
    tasks: tuple[str, ...]
    states: tuple[ChallengeState, ...]


@dataclass(frozen=True, slots=True)
class ChallengeBoards:
    """A challenge with all its boards."""

    code: str
    title: str
    phases: tuple[PhaseView, ...]
    boards: tuple[BoardSummary, ...]


@dataclass(frozen=True, slots=True)
class PhasePictures:
    """An image for each task of a phase."""

    phase: PhaseView
    pictures: tuple[Representative, ...]


@dataclass(frozen=True, slots=True)
class HomeView:
    """The front page."""

    challenges: tuple[ChallengeCard, ...]  # newest first
    open: tuple[PhaseView, ...]  # in the order of closing
    upcoming: tuple[PhaseView, ...]
    deadline: PhaseView | None  # the open phase that closes first
    newest: tuple[RecentSubmission, ...]
    published: tuple[PublishedLine, ...] = ()  # historical challenges, not scored here
    pictures: PhasePictures | None = None  # of an open phase with public images
    main_board: BoardSummary | None = None  # of the challenges that are open, the one with most methods
    news: tuple[AnnouncementView, ...] = ()  # the newest of all challenges
    is_set_up: bool = True  # there is an admin


def next_deadline(phases: Sequence[PhaseView]) -> PhaseView | None:
    """Return the open phase that closes first, or None if no open phase has a closing date."""
    closing = [each for each in phases if each.state is PhaseState.OPEN and each.closes_at is not None]
    return min(closing, key=lambda phase: phase.closes_at or phase.opens_at, default=None)


def by_deadline(phases: Sequence[PhaseView], state: PhaseState) -> tuple[PhaseView, ...]:
    """Sort the phases in a state by closing date, or by opening date if upcoming. Phases that never close come last."""
    far = datetime.max.replace(tzinfo=UTC)

    def moment(phase: PhaseView) -> datetime:
        return phase.opens_at if state is PhaseState.UPCOMING else phase.closes_at or far

    return tuple(sorted((each for each in phases if each.state is state), key=moment))


def state_of_challenge(phases: Sequence[PhaseView]) -> ChallengeState:
    """Return the state of a challenge: open if any phase is, or else upcoming if one is to come."""
    states = {phase.state for phase in phases}
    if PhaseState.OPEN in states:
        return ChallengeState.OPEN
    return ChallengeState.UPCOMING if PhaseState.UPCOMING in states else ChallengeState.CLOSED


def tasks_offered(phases: Sequence[PhaseView]) -> tuple[str, ...]:
    """List the tasks of all competitions that these phases offer, in the order of the competitions."""
    offered = {each.number: each.task for phase in phases for each in offered_competitions(phase)}
    return tuple(dict.fromkeys(offered[number] for number in sorted(offered)))


def main_board(boards: Sequence[BoardSummary]) -> BoardSummary | None:
    """Choose the board that stands for a challenge: detection on any data if there is one, else that with most methods.

    None if no board has a method whose mean is shown.
    """
    return max(
        (each for each in boards if each.leaders),
        key=lambda each: (
            each.task == MAIN_TASK,
            each.own_data and each.task == MAIN_TASK,
            each.leaders[0].low is not None,
            each.methods,
            -each.competition,
        ),
        default=None,
    )


@dataclass(frozen=True, slots=True)
class _Loaded:
    """All challenges with their phases and boards."""

    challenges: tuple[ChallengeSummary, ...]
    phases: Sequence[PhaseView]
    boards: tuple[BoardSummary, ...]
    newest: tuple[RecentSubmission, ...]
    counted: Counts
    announced: tuple[AnnouncementView, ...]
    is_set_up: bool


def _load(platform: Platform, arrivals: int = 0) -> _Loaded:
    counted = leaders.counts(platform)
    with platform.snapshot() as session:
        stored = challenges.listed_challenges(session, Actor())
        phases = challenges.listed_phases(session, Actor())
        boards = leaders.board_summaries(session, phases, counted)
        newest = standings.recent_submissions(session, phases, arrivals) if arrivals else ()
        announced = news.newest(session, None, ANNOUNCED).rows if arrivals else ()
        is_set_up = not arrivals or accounts.has_admin(session, platform.settings)
    return _Loaded(summaries(stored, phases), phases, boards, newest, counted, announced, is_set_up)


def is_set_up(platform: Platform) -> bool:
    """Whether this server has an admin."""
    with platform.reading() as session:
        return accounts.has_admin(session, platform.settings)


def home(platform: Platform) -> HomeView:
    """Load the front page."""
    loaded = _load(platform, ARRIVALS)
    cards = _cards(platform, loaded)
    open_ = by_deadline(loaded.phases, PhaseState.OPEN)
    return HomeView(
        challenges=cards,
        open=open_,
        upcoming=by_deadline(loaded.phases, PhaseState.UPCOMING),
        deadline=next_deadline(loaded.phases),
        newest=loaded.newest,
        news=loaded.announced,
        is_set_up=loaded.is_set_up,
        published=published.lines(platform),
        pictures=_pictures_of_first(platform, open_),
        main_board=max(
            (each.main_board for each in cards if each.main_board),
            key=lambda board: (board.challenge in {phase.challenge for phase in open_}, board.methods),
            default=None,
        ),
    )


def all_challenges(
    platform: Platform, task: str | None = None, state: ChallengeState | None = None
) -> ChallengeList:
    """List the challenges that offer a task and are in a state, newest first. Raises MalformedError for an unknown task."""
    cards = _cards(platform, _load(platform))
    tasks = tuple(dict.fromkeys(each for card in cards for each in card.tasks))
    if task is not None and task not in tasks:
        raise MalformedError(
            f"no challenge has the task {task!r}; known are {', '.join(tasks) or 'none yet'}"
        )
    states = {each.state for each in cards}
    return ChallengeList(
        challenges=tuple(
            each for each in cards if (task is None or task in each.tasks) and state in (None, each.state)
        ),
        total=len(cards),
        tasks=tasks,
        states=tuple(each for each in ChallengeState if each in states),
    )


def all_boards(platform: Platform) -> tuple[ChallengeBoards, ...]:
    """List the leaderboards of all challenges, the newest challenge first."""
    loaded = _load(platform)
    return tuple(
        ChallengeBoards(
            each.code,
            each.title,
            each.phases,
            tuple(board for board in loaded.boards if board.challenge == each.code),
        )
        for each in loaded.challenges
    )


def board_of_challenge(platform: Platform, code: str) -> str:
    """Return the address of the board that a challenge's tab leads to. Raises NotFoundError, also if it has no board."""
    with platform.snapshot() as session:
        phases = challenges.phases_of(session, code)
        phase = shown_phase(phases, None)
        boards = challenges.boards_of(session, [phase.id]) if phase else []
    offered = {each.number: each for each in (offered_competitions(phase) if phase else ())}
    known = [offered[board.competition] for board in boards if board.competition in offered]
    if phase is None or not known:
        raise NotFoundError(f"{code} has no leaderboard yet")
    main = max(known, key=lambda each: (each.task == MAIN_TASK, each.own_data, -each.number))
    return f"/leaderboards/{code}/{phase.image_set}/{main.number}"


def _cards(platform: Platform, loaded: _Loaded) -> tuple[ChallengeCard, ...]:
    return tuple(
        _card(
            each,
            [board for board in loaded.boards if board.challenge == each.code],
            loaded.counted,
            _pictures(platform, each.phases)[:PICTURES] if place < MOST_PICTURED else (),
        )
        for place, each in enumerate(loaded.challenges)
    )


def _card(
    challenge: ChallengeSummary,
    boards: Sequence[BoardSummary],
    counted: Counts,
    pictures: tuple[Representative, ...],
) -> ChallengeCard:
    counts = (counted.challenges.get(phase.challenge_id) for phase in challenge.phases)
    count = next(filter(None, counts), None)
    shown = {each.method_id for board in boards for each in board.leaders}
    deadline = next_deadline(challenge.phases)
    return ChallengeCard(
        code=challenge.code,
        title=challenge.title,
        dataset=challenge.dataset,
        phases=challenge.phases,
        state=state_of_challenge(challenge.phases),
        deadline=deadline.closes_at if deadline else None,
        tasks=tasks_offered(challenge.phases),
        methods=max(count.methods if count else 0, len(shown)),
        last_result=max((each.last_result for each in boards if each.last_result), default=None),
        main_board=main_board(boards),
        pictures=pictures,
    )


def _pictures_of_first(platform: Platform, phases: Sequence[PhaseView]) -> PhasePictures | None:
    """Return images of the first of these phases with public images."""
    return next(
        (PhasePictures(each, found) for each in phases if (found := _pictures(platform, (each,)))), None
    )


def _pictures(platform: Platform, phases: Sequence[PhaseView]) -> tuple[Representative, ...]:
    """Return an image for each task, of the first of these phases whose images are public. The choice is cached, not the right."""
    for phase in phases:
        if phase.shows_images:
            key = ("pictures of a challenge", phase.id, phase.description_key)
            choose = partial(representative_images, platform, Actor(), phase)
            if found := platform.cache.version(key, choose, PICTURES_FRESH):
                return found
    return ()
