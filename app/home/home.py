"""The front page, search, and the pages of challenges and competitions."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from functools import partial
from itertools import chain
from typing import Final
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.challenges import challenges, terms
from app.challenges.challenges import (
    PhaseView,
    description_of,
    find_phase,
    largest_archive,
    offered_competitions,
)
from app.challenges.disclosure import Use, disclosures_so_far, most_bits
from app.challenges.examples import first_file, has_sizes, line_grammar
from app.challenges.phase_rules import PhaseState
from app.challenges.protocols import TaskDescription, task_rules
from app.challenges.texts import ChallengeTexts
from app.core.access import Actor, visible_to
from app.core.errors import NotFoundError
from app.home.overview import Overview, overview
from app.images.covers import Cover, PublicAnnotation, own_covers, public_annotation, with_images
from app.images.pictures import PictureView, candidates, first_visible_picture
from app.models import Challenge, Method
from app.people.teams import is_public
from app.platform import Platform
from app.results import exposure, leaders, standings
from app.results.standings import Matrix
from app.submissions.methods import name_key
from heldout_scoring import CompetitionInfo, Description, Limits
from heldout_scoring.evaluation import columns_of

IMAGES_FRESH: Final = 60.0  # seconds for which the choice of images is cached


@dataclass(frozen=True, slots=True)
class Representative:
    """An image that illustrates a task of a phase.

    title: of the task; image_set: of the image; address: the URL of its page; thumbnail: the URL of its thumbnail; width, height: of the thumbnail, in CSS pixels; drawn: its
    annotation for the task, None unless everybody may see it.
    """

    task: str
    title: str
    image_set: str
    address: str
    thumbnail: str
    width: int
    height: int
    drawn: PublicAnnotation | None = None

    @property
    def picture(self) -> str:
        """The URL of the image in the size of a page."""
        return self.thumbnail.replace("/thumbnail.jpg?", "/picture.jpg?")


def representative_images(platform: Platform, phase: PhaseView) -> tuple[Representative, ...]:
    """Choose an image for each task that a phase offers. Empty unless everybody may see the images.

    The image is one of the first in the task's image set, which is public, so the choice reveals nothing about hidden annotation.
    """
    if not phase.shows_images:
        return ()
    with platform.transaction() as session:
        description = description_of(platform.descriptions, phase.description_key)
        first = {each.task: each for each in reversed(offered_competitions(phase))}
        chosen: dict[str, PictureView] = {}
        for task, names in candidates(description, reversed(first)).items():
            others = set(names) - {each.name for each in chosen.values()}
            if picture := first_visible_picture(session, phase.id, others or names):
                chosen[task] = picture
    base = f"/pictures/{quote(phase.challenge)}/{quote(phase.image_set)}"
    drawn = public_annotation(platform, phase, [(picture, task) for task, picture in chosen.items()])
    return tuple(
        Representative(
            task,
            first[task].title,
            phase.image_set,
            f"{base}/{quote(picture.name)}?competition={first[task].number}",
            f"{base}/{quote(picture.name)}/thumbnail.jpg?v={picture.version}",
            *picture.shown_size,
            annotation,
        )
        for (task, picture), annotation in zip(chosen.items(), drawn, strict=True)
    )


def thumbnails_of(platform: Platform, phases: Sequence[PhaseView]) -> tuple[Representative, ...]:
    """Choose an image for each task, of the first phase whose images everybody may see now; the choice is cached."""
    for phase in phases:
        if phase.shows_images:
            key = ("representatives", phase.id, phase.description_key, phase.not_offered, phase.draws_images)
            choose = partial(representative_images, platform, phase)
            if found := platform.cache.version(key, choose, IMAGES_FRESH):
                return found
    return ()


def picture_of(task: str, pictures: Iterable[Representative]) -> Representative | None:
    """Choose the first image of a task whose annotation everybody may see, or else its first image."""
    found = [each for each in pictures if each.task == task]
    return next((each for each in found if each.drawn), found[0] if found else None)


@dataclass(frozen=True, slots=True)
class CompetitionLine:
    """A competition of a phase, as the challenge's page lists it."""

    number: int
    task: str
    title: str
    data_rule: str


@dataclass(frozen=True, slots=True)
class PhaseCard:
    """A phase with the competitions that it offers."""

    phase: PhaseView
    competitions: tuple[CompetitionLine, ...]
    bits: int | None = None  # the most that any team can have learnt; None if the organiser does not show it
    pictures: tuple[Representative, ...] = ()  # one per task; empty if the reader may not see images


@dataclass(frozen=True, slots=True)
class ChallengeSummary:
    """A challenge in the list of all challenges."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseView, ...]


@dataclass(frozen=True, slots=True)
class ChallengeView:
    """The page of a challenge."""

    code: str
    title: str
    dataset: str
    phases: tuple[PhaseCard, ...]
    matrix: Matrix | None = None  # of one phase; None if the challenge has no phase
    has_terms: bool = False
    overview: Overview = field(default_factory=lambda: Overview(ChallengeTexts()))
    cover: Cover = field(default_factory=Cover)

    @property
    def thumbnails(self) -> tuple[Representative, ...]:
        """An image for each task, of the first phase that shows some."""
        return next((card.pictures for card in self.phases if card.pictures), ())


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """The beginning of a valid prediction file."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CompetitionView:
    """What a competition of a phase expects, and how it is scored now."""

    phase: PhaseView
    info: CompetitionInfo
    data_rule: str
    path: str  # of its files in an archive, with placeholders such as <class>
    grammar: str  # of a line or file
    example: ExampleFile | None  # None if there is none or it is not text
    has_example: bool  # an example archive can be downloaded
    classes: tuple[str, ...]
    protocol: str
    rules: TaskDescription | None  # None if this version does not know the protocol
    ground_truth: int
    ground_truth_id: uuid.UUID  # a random id for this version of the annotation
    scorer: str
    has_terms: bool
    largest: int  # bytes of an archive
    limits: Limits = field(default_factory=Limits)
    picture: Representative | None = None  # an image of its task; None if the reader may see none


@dataclass(frozen=True, slots=True)
class FoundMethod:
    """A public method whose name begins with the search words."""

    id: int
    name: str
    title: str
    challenge_title: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The challenges and public methods that match some words."""

    words: str
    challenges: tuple[ChallengeSummary, ...]  # best match first
    methods: tuple[FoundMethod, ...]


MOST_TICKS: Final = 6
DAYS: Final = (1, 2, 7, 14)
MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120)
MARGIN: Final = 0.06  # drawn after the last date, as a fraction of the time span
MOST_COMPARED: Final = 100  # search only so many challenges, the newest
MOST_FOUND: Final = 10
MIN_SIMILARITY: Final = 0.6  # of a challenge's name and the search words, for a match
MIN_SPAN: Final = timedelta(days=4)  # of a timeline


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """A phase on the timeline. Positions and widths are in percent of the width, from the left."""

    phase: PhaseView
    left: float
    width: float
    grace: float  # the width of the grace period after the bar


@dataclass(frozen=True, slots=True)
class Tick:
    """A date on the axis."""

    place: float
    text: str

    @property
    def anchor(self) -> str:
        """The text anchor, chosen so that the text stays within the drawing."""
        return "start" if self.place < 5 else "end" if self.place > 92 else "middle"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The phases of a challenge over time."""

    bars: tuple[TimelineBar, ...]
    ticks: tuple[Tick, ...]
    now: Tick


def shown_phase(phases: Sequence[PhaseView], image_set: str | None) -> PhaseView | None:
    """Choose the phase whose methods a challenge's page shows.

    The requested one; by default one that has opened rather than an upcoming one, a held-out one rather than an open one, and the
    newest of these. None if there is no such phase.
    """
    if image_set is not None:
        return next((each for each in phases if each.image_set == image_set), None)
    return max(
        phases,
        key=lambda phase: (
            phase.state is not PhaseState.UPCOMING,
            phase.is_held_out,
            phase.opens_at,
            phase.id,
        ),
        default=None,
    )


def timeline_of(phases: Sequence[PhaseView], now: datetime) -> Timeline:
    """Lay out a challenge's phases on a timeline, in their order."""
    ends = [phase.over_at for phase in phases if phase.over_at is not None]
    start = min([now, *(phase.opens_at for phase in phases)])
    last = max([now, *ends, *(phase.opens_at for phase in phases)])
    length = max(last - start, MIN_SPAN) * (1 + MARGIN)

    def place(moment: datetime) -> float:
        return round(100 * ((moment - start) / length), 2)

    def bar(phase: PhaseView) -> TimelineBar:
        left, grace = place(phase.opens_at), 0.0
        if phase.closes_at is None:
            return TimelineBar(phase, left, round(100 - left, 2), grace)
        right = place(phase.closes_at)
        grace = round(place(phase.closes_at + phase.grace_in_force) - right, 2)
        return TimelineBar(phase, left, round(right - left, 2), grace)

    ticks = tuple(Tick(place(moment), text) for moment, text in _dates(start, start + length))
    bars = tuple(map(bar, phases))
    return Timeline(bars, ticks, Tick(place(now), "now"))


def _dates(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Choose round dates within a period, at most `MOST_TICKS`, with their labels."""
    begin = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for step in DAYS:
        if (end - begin) / timedelta(days=step) <= MOST_TICKS:
            days = (begin + timedelta(days=step * number) for number in range(MOST_TICKS + 1))
            return [(each, f"{each.day} {each:%b}") for each in days if start <= each <= end]
    for step in MONTHS:
        dates = [each for each in _months(begin, end, step) if each >= start]
        if len(dates) <= MOST_TICKS:
            return [(each, f"{each:%Y}" if step >= 12 else f"{each:%b %Y}") for each in dates]
    return []


def _months(begin: datetime, end: datetime, step: int) -> Iterator[datetime]:
    """Yield the first day of every `step` months, counted from the year 0."""
    month = (begin.year * 12 + begin.month - 1) // step * step
    while (moment := datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)) <= end:
        yield moment
        month += step


def likely_challenges(words: str, challenges: Sequence[ChallengeSummary]) -> tuple[ChallengeSummary, ...]:
    """Return the challenges whose code or title resembles the words or one of them, best match first."""
    wanted = {words.casefold(), *words.casefold().split()}

    def similarities(challenge: ChallengeSummary) -> list[float]:
        names = {challenge.code.casefold(), challenge.title.casefold(), *challenge.title.casefold().split()}
        return [max(SequenceMatcher(None, word, name).ratio() for name in names) for word in wanted]

    compared = [(similarities(challenge), challenge) for challenge in challenges[:MOST_COMPARED]]
    similar = [each for each in compared if max(each[0]) >= MIN_SIMILARITY]
    similar.sort(key=lambda each: -sum(each[0]))
    return tuple(challenge for _, challenge in similar[:MOST_FOUND])


def find_methods(session: Session, actor: Actor, words: str, limit: int) -> tuple[FoundMethod, ...]:
    """Find the public methods whose normalised name equals the words or begins with them, newest challenge first."""
    key = name_key(words)
    if not key:
        return ()
    statement = (
        select(Method.id, Method.name, Method.title, Challenge.title)
        .join(Method.challenge)
        .where(
            Method.name_key.startswith(key, autoescape=True),
            is_public(),
            challenges.is_known_to_others(Method.id),
            visible_to(actor, Method.challenge_id, in_lists=True),
        )
        .order_by(Challenge.id.desc(), Method.name_key)
        .limit(limit)
    )
    return tuple(FoundMethod(*row) for row in session.execute(statement))


USES_FRESH = 60.0  # seconds for which the number of disclosed bits is cached
LONGEST_EXAMPLE = 1200  # characters


def summaries(stored: Sequence[Challenge], phases: Sequence[PhaseView]) -> tuple[ChallengeSummary, ...]:
    """Pair challenges with their phases."""
    return tuple(
        ChallengeSummary(
            code=challenge.code,
            title=challenge.title,
            dataset=challenge.dataset,
            phases=tuple(phase for phase in phases if phase.challenge == challenge.code),
        )
        for challenge in stored
    )


def challenge_page(platform: Platform, code: str, image_set: str | None, page: int) -> ChallengeView:
    """Load a challenge with a page of the methods of one phase. image_set: None for the default of `shown_phase`.

    Raises NotFoundError.
    """
    counted = leaders.counts(platform)
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code)
        phases = challenges.phases_of(session, code)
        shown = shown_phase(phases, image_set)
        if shown is None and image_set is not None:
            raise NotFoundError(f"there is no image set {image_set!r} in {code}")
        matrix = standings.matrix(session, shown, page) if shown else None
        has_terms = terms.current_terms(session, code, None) is not None
        bits = {
            phase.id: _bits(platform, session, phase)
            for phase in phases
            if phase.shows_exposure and not phase.is_frozen
        }
        shown_overview = overview(session, challenge.id, phases, shown, counted)
        own_cover = own_covers(session, code).get(code)
    cards = tuple(
        PhaseCard(phase, _competitions(phase), bits.get(phase.id), thumbnails_of(platform, [phase]))
        for phase in phases
    )
    return ChallengeView(
        challenge.code,
        challenge.title,
        challenge.dataset,
        cards,
        matrix,
        has_terms,
        shown_overview,
        with_images(platform, own_cover, phases),
    )


def _bits(platform: Platform, session: Session, phase: PhaseView) -> int | None:
    """Return the bits disclosed to the team that learnt most. All classes count, so that this does not depend on labels."""
    public = description_of(platform.descriptions, phase.description_key)
    values = {
        each.number: len(columns_of(public, each.number, phase.protocol))
        for each in offered_competitions(phase)
    }

    def read() -> tuple[Use, ...]:
        results = exposure.scored_results(session, phase.id).values()
        return tuple({_use(each, values) for each in results})

    # This reads every scored run. With 100,000 runs, once a minute takes 0.1 % of a CPU, once a second 5 %.
    uses = platform.cache.version(("uses", phase.id, phase.description_key, phase.protocol), read, USES_FRESH)
    return most_bits(disclosures_so_far(phase, exposure.disclosure_changes(session, phase.id)), uses)


def _use(results: Mapping[int, int], values: Mapping[int, int]) -> Use:
    """Return the most a team can have learnt. results: its scored results, values: per result, both by competition."""
    count = sum(results.values())
    return Use(count, sum(each * values[number] for number, each in results.items()), count)


def _competitions(phase: PhaseView) -> tuple[CompetitionLine, ...]:
    return tuple(
        CompetitionLine(info.number, info.task, info.title, info.own_data_rule)
        for info in offered_competitions(phase)
    )


def find(platform: Platform, actor: Actor, words: str) -> SearchResult:
    """Find challenges and public methods by name, of challenges that lists show this reader."""
    words = words.strip()
    with platform.snapshot() as session:
        stored = challenges.listed_challenges(session, actor)
        known = summaries(stored, challenges.listed_phases(session, actor))
        methods = find_methods(session, actor, words, MOST_FOUND)
    return SearchResult(words, likely_challenges(words, known), methods)


def competition_page(platform: Platform, challenge: str, image_set: str, number: int) -> CompetitionView:
    """Load what a competition expects and how it is scored now.

    Raises NotFoundError, also if the phase does not offer the competition.
    """
    with platform.snapshot() as session:
        phase = find_phase(session, challenge, image_set)
        versions = challenges.board_versions(session, phase.id, number)
        info = next((each for each in offered_competitions(phase) if each.number == number), None)
        if info is None or versions is None:
            raise NotFoundError(f"there is no competition {number} in {challenge} {image_set}")
        board, truth = versions
        has_terms = terms.current_terms(session, challenge, None) is not None
        others = [each for each in challenges.phases_of(session, challenge) if each.id != phase.id]
    description = description_of(platform.descriptions, phase.description_key)
    return CompetitionView(
        phase=phase,
        info=info,
        data_rule=info.own_data_rule,
        path=f"results/{phase.dataset}/{info.file_pattern_of(phase.image_set)}",
        grammar=line_grammar(info.task),
        example=_example(description, info),
        has_example=has_sizes(description),
        classes=columns_of(description, number, board.protocol),
        protocol=board.protocol,
        rules=task_rules(board.protocol, info.task),
        ground_truth=truth.version,
        ground_truth_id=truth.public_id,
        scorer=board.scorer,
        has_terms=has_terms,
        largest=largest_archive(phase, platform.settings.max_upload),
        limits=description.limits,
        picture=picture_of(
            info.task, chain.from_iterable(thumbnails_of(platform, [each]) for each in (phase, *others))
        ),
    )


def phases_of(platform: Platform, challenge: str) -> list[PhaseView]:
    """Return the phases of a challenge, for the head of its pages."""
    with platform.snapshot() as session:
        return challenges.phases_of(session, challenge)


def _example(description: Description, info: CompetitionInfo) -> ExampleFile | None:
    """Return the beginning of an example file, or None if there is none or it is not text."""
    file = first_file(description, info) if has_sizes(description) else None
    if file is None or not file[0].endswith((".txt", ".xml", ".json")):
        return None
    name, content = file
    text = content.decode()
    return ExampleFile(name, text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]} …")
