"""Editions with their phases and the leading rows of every board."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.disclosure import queries as disclosure
from app.disclosure.rules import most_bits, row_in_force
from app.disclosure.schemas import Use
from app.editions import queries as editions
from app.editions.rules import offered_competitions
from app.editions.schemas import PhaseView
from app.editions.service import description_of, find_phase
from app.errors import NotFoundError
from app.examples.rules import line_grammar
from app.home.schemas import (
    CompetitionCard,
    EditionSummary,
    EditionView,
    ExpectedFiles,
    PhaseCard,
    SubmitView,
)
from app.leaderboards import queries as leaderboards
from app.leaderboards import service as boards
from app.leaderboards.schemas import BoardSummary
from app.participation import queries as participation_queries
from app.participation import service as participation
from app.participation.rules import step_of
from app.platform import Platform
from app.quotas import service as quotas


def home(platform: Platform) -> tuple[EditionSummary, ...]:
    """Every edition, newest first."""
    with platform.snapshot() as session:
        stored = editions.all_editions(session)
        phases = editions.all_phases(session)
        methods = leaderboards.methods_by_edition(session)
    return tuple(
        EditionSummary(
            code=edition.code,
            title=edition.title,
            dataset=edition.dataset,
            phases=tuple(phase for phase in phases if phase.edition == edition.code),
            methods=methods.get(edition.id, 0),
        )
        for edition in stored
    )


def edition_page(platform: Platform, actor: Actor, code: str) -> EditionView:
    """An edition with the first rows of every board.

    Raises NotFoundError.
    """
    with platform.snapshot() as session:
        edition = editions.edition_of(session, code)
        if edition is None:
            raise NotFoundError(f"there is no edition {code!r}")
        phases = editions.phases_of(session, code)
        summaries = boards.summaries(session, actor, phases)
        has_terms = participation_queries.current_terms(session, code, None) is not None
        bits = {phase.id: _bits(platform, session, phase) for phase in phases if phase.shows_exposure}
    cards = tuple(PhaseCard(phase, _competitions(phase, summaries), bits.get(phase.id)) for phase in phases)
    return EditionView(edition.code, edition.title, edition.dataset, cards, has_terms=has_terms)


def _bits(platform: Platform, session: Session, phase: PhaseView) -> int | None:
    """What can have been disclosed to the team that has had the most; every class counts, so that no label decides it."""
    public = description_of(platform.descriptions, phase.description_key)
    values = {
        each.number: len(scoring.columns(public, each.number, phase.protocol))
        for each in offered_competitions(phase)
    }
    results = disclosure.scored_results(session, phase.id).values()
    uses = [
        Use(
            sum(each.values()),
            sum(count * values[number] for number, count in each.items()),
            sum(each.values()),
        )
        for each in results
    ]
    return most_bits(row_in_force(phase), uses)


def _competitions(
    phase: PhaseView, summaries: Mapping[tuple[int, int], BoardSummary]
) -> tuple[CompetitionCard, ...]:
    return tuple(
        _card(phase, competition, summary)
        for (phase_id, competition), summary in summaries.items()
        if phase_id == phase.id
    )


def _card(phase: PhaseView, competition: int, summary: BoardSummary) -> CompetitionCard:
    info = scoring.competition_of(phase.dataset, competition)
    return CompetitionCard(
        edition=phase.edition,
        image_set=phase.image_set,
        number=competition,
        task=info.task,
        title=info.title,
        data_rule=info.own_data_rule,
        methods=summary.methods,
        leaders=summary.leaders,
    )


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
        steps=tuple(step_of(refusal, phase) for refusal in against),
        can_upload=can_upload,
    )
