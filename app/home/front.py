"""The front page, and the lists of challenges and of leaderboards."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from app.challenges import challenges, news, texts
from app.challenges.challenges import PhaseView, by_deadline, offered_competitions
from app.challenges.news import AnnouncementView
from app.challenges.phase_rules import PhaseState
from app.core.access import Actor
from app.core.errors import MalformedError, NotFoundError
from app.home.home import ChallengeSummary, Representative, shown_phase, summaries, thumbnails_of
from app.images import covers
from app.images.covers import Cover
from app.people import accounts
from app.platform import Platform
from app.results import leaders, standings
from app.results.leaders import BoardCounts, BoardSummary
from app.results.standings import RecentSubmission

ARRIVALS: Final = 8  # submissions on the front page
ANNOUNCED: Final = 3  # announcements on it
MOST_PICTURED: Final = 12  # challenges that are shown with images, the newest
MAIN_TASK: Final = "detection"  # whose board stands for a challenge that has one


class ChallengeState(enum.StrEnum):
    """Whether a challenge accepts results now, in any of its phases."""

    OPEN = "open"
    UPCOMING = "upcoming"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ChallengeCard(ChallengeSummary):
    """A challenge as a card.

    tagline: of its organisers, empty if there is none; deadline: when the first of its open phases closes, None for never;
    main_board: the board that stands for it, None if none has a public result.
    """

    state: ChallengeState = ChallengeState.CLOSED
    deadline: datetime | None = None
    tasks: tuple[str, ...] = ()
    methods: int = 0
    last_result: datetime | None = None
    main_board: BoardSummary | None = None
    cover: Cover = field(default_factory=Cover)
    tagline: str = ""

    @property
    def titles(self) -> dict[str, str]:
        """The titles of its tasks, in the order of the competitions."""
        offered = {each.number: each for phase in self.phases for each in offered_competitions(phase)}
        found: dict[str, str] = {}
        for number in sorted(offered):
            found.setdefault(offered[number].task, offered[number].title)
        return found


@dataclass(frozen=True, slots=True)
class ChallengeList:
    """The challenges that a filter leaves, with everything that one can filter by. tasks: with their titles."""

    challenges: tuple[ChallengeCard, ...]
    total: int
    tasks: Mapping[str, str]
    states: tuple[ChallengeState, ...]


@dataclass(frozen=True, slots=True)
class ChallengeBoards:
    """A challenge with all its boards. thumbnails: an image for each task; empty if everybody may not see any."""

    code: str
    title: str
    phases: tuple[PhaseView, ...]
    boards: tuple[BoardSummary, ...]
    thumbnails: tuple[Representative, ...] = ()

    def shown(self, image_set: str | None) -> PhaseView | None:
        """Choose the phase whose boards a page shows: that of an image set if it has boards, else as `shown_phase`."""
        having_boards = {board.phase.image_set for board in self.boards}
        phases = [phase for phase in self.phases if phase.image_set in having_boards]
        return shown_phase(phases, image_set) or shown_phase(phases, None)


@dataclass(frozen=True, slots=True)
class HomeView:
    """The front page."""

    challenges: tuple[ChallengeCard, ...]  # newest first
    open: tuple[PhaseView, ...]  # in the order of closing
    upcoming: tuple[PhaseView, ...]
    deadline: PhaseView | None  # the open phase that closes first
    newest: tuple[RecentSubmission, ...]
    main_board: BoardSummary | None = None  # of the challenges that are open, the one with most methods
    news: tuple[AnnouncementView, ...] = ()  # the newest of all challenges
    is_set_up: bool = True  # there is an admin

    @property
    def newest_by_method(self) -> tuple[tuple[RecentSubmission, ...], ...]:
        """The newest submissions, those of a method to several phases together, in the order of these."""
        phases = [phase for each in self.challenges for phase in each.phases]
        order = {(phase.challenge, phase.image_set): place for place, phase in enumerate(phases)}
        by_method: dict[int, list[RecentSubmission]] = {}
        for each in self.newest:
            by_method.setdefault(each.method.id, []).append(each)
        for group in by_method.values():
            group.sort(key=lambda each: order.get((each.phase.challenge, each.phase.image_set), 0))
        return tuple(tuple(group) for group in by_method.values())


def next_deadline(phases: Sequence[PhaseView]) -> PhaseView | None:
    """Return the open phase that closes first, or None if no open phase has a closing date."""
    closing = [each for each in phases if each.state is PhaseState.OPEN and each.closes_at is not None]
    return min(closing, key=lambda phase: phase.closes_at or phase.opens_at, default=None)


def state_of_challenge(phases: Sequence[PhaseView]) -> ChallengeState:
    """Return the state of a challenge: open if any phase is, or else upcoming if one is to come or there is none yet."""
    states = {phase.state for phase in phases}
    if PhaseState.OPEN in states:
        return ChallengeState.OPEN
    is_to_come = not states or PhaseState.UPCOMING in states
    return ChallengeState.UPCOMING if is_to_come else ChallengeState.CLOSED


def tasks_offered(phases: Sequence[PhaseView]) -> tuple[str, ...]:
    """List the tasks of all competitions that these phases offer, in the order of the competitions."""
    offered = {each.number: each.task for phase in phases for each in offered_competitions(phase)}
    return tuple(dict.fromkeys(offered[number] for number in sorted(offered)))


def main_board(phases: Sequence[PhaseView], boards: Sequence[BoardSummary]) -> BoardSummary | None:
    """Choose the board that stands for a challenge: detection on any data if there is one, else that with most methods.

    It is of the phase that `shown_phase` chooses among those that have a method whose mean is shown; None if none has.
    """
    leading = [each for each in boards if each.leaders]
    having_leaders = {board.phase for board in leading}
    shown = shown_phase([phase for phase in phases if phase.ref in having_leaders], None)
    return max(
        (each for each in leading if shown and each.phase == shown.ref),
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
    counted: BoardCounts
    announced: tuple[AnnouncementView, ...]
    covers: Mapping[str, Cover]  # of their own, by challenge
    taglines: Mapping[str, str]
    is_set_up: bool


def _load(platform: Platform, arrivals: int = 0) -> _Loaded:
    counted = leaders.counts(platform)
    with platform.snapshot() as session:
        stored = challenges.listed_challenges(session, Actor())
        phases = challenges.listed_phases(session, Actor())
        boards = leaders.board_summaries(session, phases, counted)
        newest = standings.recent_submissions(session, phases, arrivals) if arrivals else ()
        announced = news.newest(session, None, ANNOUNCED).rows if arrivals else ()
        own, taglines = covers.own_covers(session), texts.taglines(session)
        is_set_up = not arrivals or accounts.has_admin(session, platform.settings)
    return _Loaded(
        summaries(stored, phases), phases, boards, newest, counted, announced, own, taglines, is_set_up
    )


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
        main_board=max(
            (each.main_board for each in cards if each.main_board),
            key=lambda board: (board.phase.challenge in {phase.challenge for phase in open_}, board.methods),
            default=None,
        ),
    )


def all_challenges(
    platform: Platform, task: str | None = None, state: ChallengeState | None = None
) -> ChallengeList:
    """List the challenges that offer a task and are in a state, newest first. Raises MalformedError for an unknown task."""
    cards = _cards(platform, _load(platform))
    tasks = {each: card.titles[each] for card in reversed(cards) for each in card.tasks}
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
            tuple(board for board in loaded.boards if board.phase.challenge == each.code),
            thumbnails_of(platform, each.phases if place < MOST_PICTURED else ()),
        )
        for place, each in enumerate(loaded.challenges)
    )


def board_of_challenge(platform: Platform, code: str) -> str:
    """Return the address of the board that a challenge's tab leads to, one with results if there is any.

    Raises NotFoundError, also if it has no board.
    """
    counted = leaders.counts(platform)
    with platform.snapshot() as session:
        phase = shown_phase(challenges.phases_of(session, code), None)
        phases = [phase] if phase else []
        boards = leaders.board_summaries(session, phases, counted, 1)
    offered = {each.number for phase in phases for each in offered_competitions(phase)}
    known = [each for each in boards if each.competition in offered]
    if not known:
        raise NotFoundError(f"there is no leaderboard of {code} yet")
    main = main_board(phases, known) or max(
        known, key=lambda each: (each.task == MAIN_TASK, each.own_data, -each.competition)
    )
    return f"/leaderboards/{code}/{main.phase.image_set}/{main.competition}"


def _cards(platform: Platform, loaded: _Loaded) -> tuple[ChallengeCard, ...]:
    return tuple(
        _card(
            each,
            [board for board in loaded.boards if board.phase.challenge == each.code],
            loaded.counted,
            covers.with_images(
                platform, loaded.covers.get(each.code), each.phases if place < MOST_PICTURED else ()
            ),
            loaded.taglines.get(each.code, ""),
        )
        for place, each in enumerate(loaded.challenges)
    )


def _card(
    challenge: ChallengeSummary,
    boards: Sequence[BoardSummary],
    counted: BoardCounts,
    cover: Cover,
    tagline: str,
) -> ChallengeCard:
    counts = (counted.challenges.get(phase.challenge_id) for phase in challenge.phases)
    count = next(filter(None, counts), None)
    shown = {each.method.id for board in boards for each in board.leaders}
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
        main_board=main_board(challenge.phases, boards),
        cover=cover,
        tagline=tagline,
    )
