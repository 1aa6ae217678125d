"""Home, the overview of an edition, and what somebody needs to know before an upload."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.disclosure import queries as disclosure
from app.disclosure.rules import most_bits, rows_so_far
from app.disclosure.schemas import Use
from app.editions import queries as editions
from app.editions.rules import offered_competitions
from app.editions.schemas import PhaseState, PhaseView
from app.editions.service import description_of, find_phase
from app.errors import NotFoundError
from app.examples.rules import first_file, has_sizes, line_grammar, task_rules
from app.home import queries
from app.home.rules import MOST_FOUND, by_deadline, likely_editions, next_deadline, shown_phase
from app.home.schemas import (
    CompetitionLine,
    CompetitionView,
    EditionSummary,
    EditionView,
    ExampleFile,
    ExpectedFiles,
    Found,
    HomeView,
    PhaseCard,
    PhasePictures,
    SubmitView,
)
from app.images.pictures import representatives
from app.models import Edition
from app.participation import queries as participation_queries
from app.participation import service as participation
from app.participation.rules import step_of
from app.platform import Platform
from app.published import service as published
from app.quotas import service as quotas
from app.standings import service as standings
from scoring import CompetitionInfo, Description

ARRIVALS = 8  # submissions
MOST_LOOKED_AT = 4  # open phases among which one with pictures is looked for
USES_FRESH = 60.0  # seconds for which an edition's page says how much was disclosed to any team
LONGEST_EXAMPLE = 1200  # characters


def home(platform: Platform) -> HomeView:
    """What there is to enter and to read."""
    with platform.snapshot() as session:
        stored = editions.all_editions(session)
        phases = editions.all_phases(session)
        newest = standings.arrivals(session, phases, ARRIVALS)
    open_ = by_deadline(phases, PhaseState.OPEN)
    return HomeView(
        editions=_summaries(stored, phases),
        open=open_,
        upcoming=by_deadline(phases, PhaseState.UPCOMING),
        deadline=next_deadline(phases),
        newest=newest,
        pictures=_pictures(platform, open_),
        published=published.lines(platform),
    )


def _pictures(platform: Platform, phases: Sequence[PhaseView]) -> PhasePictures | None:
    """The pictures of the first of these phases whose images everybody sees."""
    for phase in phases[:MOST_LOOKED_AT]:
        if found := representatives(platform, Actor(), phase):
            return PhasePictures(phase, found)
    return None


def all_editions(platform: Platform) -> tuple[EditionSummary, ...]:
    """Every edition, newest first."""
    with platform.snapshot() as session:
        return _summaries(editions.all_editions(session), editions.all_phases(session))


def _summaries(stored: Sequence[Edition], phases: Sequence[PhaseView]) -> tuple[EditionSummary, ...]:
    return tuple(
        EditionSummary(
            code=edition.code,
            title=edition.title,
            dataset=edition.dataset,
            phases=tuple(phase for phase in phases if phase.edition == edition.code),
        )
        for edition in stored
    )


def edition_page(platform: Platform, code: str, image_set: str | None, page: int) -> EditionView:
    """An edition with a page of the methods of one phase: this one, or by default one that is open.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        edition = editions.edition_of(session, code)
        if edition is None:
            raise NotFoundError(f"there is no edition {code!r}")
        phases = editions.phases_of(session, code)
        shown = shown_phase(phases, image_set)
        if shown is None and image_set is not None:
            raise NotFoundError(f"{code} has no image set {image_set!r}")
        matrix = standings.matrix(session, shown, page) if shown else None
        has_terms = participation_queries.current_terms(session, code, None) is not None
        bits = {phase.id: _bits(platform, session, phase) for phase in phases if phase.shows_exposure}
    cards = tuple(
        PhaseCard(phase, _competitions(phase), bits.get(phase.id), representatives(platform, Actor(), phase))
        for phase in phases
    )
    return EditionView(edition.code, edition.title, edition.dataset, cards, matrix, has_terms=has_terms)


def _bits(platform: Platform, session: Session, phase: PhaseView) -> int | None:
    """What can have been disclosed to the team that has had the most; every class counts, so that no label decides it."""
    public = description_of(platform.descriptions, phase.description_key)
    values = {
        each.number: len(scoring.columns(public, each.number, phase.protocol))
        for each in offered_competitions(phase)
    }

    def read() -> tuple[Use, ...]:
        results = disclosure.scored_results(session, phase.id).values()
        return tuple({_use(each, values) for each in results})

    # every scored run is read for it: after 100,000 of them once a minute takes a thousandth of a processor, once a second a twentieth
    uses = platform.cache.version(("uses", phase.id, phase.description_key, phase.protocol), read, USES_FRESH)
    return most_bits(rows_so_far(phase, disclosure.terms_changes(session, phase.id)), uses)


def _use(results: Mapping[int, int], values: Mapping[int, int]) -> Use:
    """What a team learnt at most; results: scored ones, values: of a result, each by competition."""
    count = sum(results.values())
    return Use(count, sum(each * values[number] for number, each in results.items()), count)


def _competitions(phase: PhaseView) -> tuple[CompetitionLine, ...]:
    return tuple(
        CompetitionLine(info.number, info.task, info.title, info.own_data_rule)
        for info in offered_competitions(phase)
    )


def find(platform: Platform, words: str) -> Found:
    """Editions and public methods that are called like these words."""
    words = words.strip()
    with platform.snapshot() as session:
        summaries = _summaries(editions.all_editions(session), editions.all_phases(session))
        methods = queries.methods_called(session, words, MOST_FOUND)
    return Found(words, likely_editions(words, summaries), methods)


def competition_page(platform: Platform, edition: str, image_set: str, number: int) -> CompetitionView:
    """What a competition asks for, and how it is scored now.

    Raises NotFoundError, also for one that the phase does not offer.
    """
    with platform.snapshot() as session:
        phase = find_phase(session, edition, image_set)
        versions = editions.board_versions(session, phase.id, number)
        info = next((each for each in offered_competitions(phase) if each.number == number), None)
        if info is None or versions is None:
            raise NotFoundError(f"{edition} {image_set} has no competition {number}")
        board, truth = versions
        has_terms = participation_queries.current_terms(session, edition, None) is not None
    description = description_of(platform.descriptions, phase.description_key)
    return CompetitionView(
        phase=phase,
        info=info,
        data_rule=info.own_data_rule,
        path=f"results/{phase.dataset}/{info.file_pattern_of(phase.image_set)}",
        grammar=line_grammar(info.task),
        example=_example(description, info),
        has_example=has_sizes(description),
        classes=scoring.columns(description, number, board.protocol),
        protocol=board.protocol,
        rules=task_rules(board.protocol, info.task),
        ground_truth=truth.version,
        ground_truth_id=truth.public_id,
        scorer=board.scorer,
        has_terms=has_terms,
        limits=description.limits,
    )


def _example(description: Description, info: CompetitionInfo) -> ExampleFile | None:
    """The beginning of an example, where it is text."""
    found = first_file(description, info) if has_sizes(description) else None
    if found is None or not found[0].endswith((".txt", ".xml", ".json")):
        return None
    name, content = found
    text = content.decode()
    return ExampleFile(name, text if len(text) <= LONGEST_EXAMPLE else f"{text[:LONGEST_EXAMPLE]} …")


def submit_page(platform: Platform, actor: Actor, edition: str, image_set: str) -> SubmitView:
    """What somebody needs to know before an upload.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        phase = find_phase(session, edition, image_set)
        offered = offered_competitions(phase)
        quota = quotas.lines(session, actor, phase)
        against = participation.against_submission(session, actor, phase)
        can_upload = not participation.against_upload(session, actor, phase)
    return SubmitView(
        phase=phase,
        competitions=tuple(ExpectedFiles(each, line_grammar(each.task)) for each in offered),
        quota=quota,
        max_upload=platform.settings.max_upload,
        limits=description_of(platform.descriptions, phase.description_key).limits,
        steps=tuple(step_of(refusal, phase) for refusal in against),
        can_upload=can_upload,
    )
