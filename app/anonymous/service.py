"""Making, revoking and revealing anonymous links, and what they show."""

import secrets
from collections.abc import Callable

from sqlalchemy import func
from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.anonymous import queries
from app.anonymous.queries import LinkedEntry
from app.anonymous.rules import LinkState, link_refusals, link_state, reveal_refusal
from app.anonymous.schemas import AnonymousResult, LinksPage, LinkView
from app.audit.queries import record
from app.disclosure import queries as disclosure
from app.disclosure.rules import public_sight, withheld
from app.editions import queries as editions
from app.errors import NotFoundError, Refusal, RefusedError
from app.exhibits import queries as exhibits
from app.exhibits.schemas import ExhibitView, exhibits_of
from app.jobs import places
from app.models import AnonymousLink, EntryState
from app.platform import Platform
from app.submissions import queries as submissions
from app.submissions.schemas import RunScores, run_view


def links_page(platform: Platform, actor: Actor, entry_id: int) -> LinksPage:
    """The anonymous links of a result of the reader's team; raises NotFoundError."""
    with platform.transaction() as session:
        linked = queries.linkable_entry(session, actor, entry_id)
        if linked is None:
            raise NotFoundError(f"your team has no result {entry_id}")
        links = tuple(_view(platform, link) for link in queries.links_of(session, entry_id))
        phase = editions.phase_of_id(session, linked.phase.id)
        assert phase is not None
        entry, method = linked.entry, linked.method
        return LinksPage(
            entry=entry_id,
            submission=entry.submission_id,
            method=method.name,
            competition=entry.competition,
            title=scoring.competition_of(phase.dataset, entry.competition).title,
            links=links,
            refusals=tuple(each.message for each in _refusals(session, linked)),
            is_public=method.public_at is not None,
        )


def _view(platform: Platform, link: AnonymousLink) -> LinkView:
    state = link_state(link.revoked_at, link.revealed_at)
    path = f"/anonymous/{link.token}"
    address = platform.settings.address.rstrip("/") + path
    return LinkView(link.id, path, address, state, link.created_at, link.run_id)


def _refusals(session: Session, linked: LinkedEntry) -> tuple[Refusal, ...]:
    links = queries.links_of(session, linked.entry.id)
    states = [link_state(link.revoked_at, link.revealed_at) for link in links]
    return link_refusals(
        linked.entry.state,
        is_public=linked.method.public_at is not None,
        is_embargoed=_is_embargoed(session, linked),
        links=states.count(LinkState.ANONYMOUS),
    )


def _is_embargoed(session: Session, linked: LinkedEntry) -> bool:
    phase = editions.phase_of_id(session, linked.phase.id)
    assert phase is not None
    return phase.embargo and not phase.is_over


def create(platform: Platform, actor: Actor, entry_id: int) -> LinkView:
    """A new anonymous link to what the board has of this result now; raises NotFoundError, RefusedError."""
    with platform.transaction() as session:
        linked = queries.lock_linkable_entry(session, actor, entry_id)
        if linked is None:
            raise NotFoundError(f"your team has no result {entry_id}")
        if found := _refusals(session, linked):
            raise RefusedError(found)
        link = AnonymousLink(
            token=secrets.token_urlsafe(24),
            entry_id=entry_id,
            run_id=linked.entry.published_run_id,
            created_by=actor.user_id,
        )
        session.add(link)
        session.flush()
        _record(session, actor, linked, link, "link.create")
        return _view(platform, link)


def revoke(platform: Platform, actor: Actor, link_id: int) -> int:
    """Let a link lead nowhere, for good; returns its entry. Raises NotFoundError."""

    def change(_: LinkedEntry, link: AnonymousLink) -> bool:
        if link.revoked_at is not None:
            return False
        link.revoked_at = func.clock_timestamp()
        return True

    return _change(platform, actor, link_id, "link.revoke", change)


def reveal(platform: Platform, actor: Actor, link_id: int) -> int:
    """Let a link lead to the page of the submission; returns its entry. Raises NotFoundError, RefusedError."""

    def change(linked: LinkedEntry, link: AnonymousLink) -> bool:
        state = link_state(link.revoked_at, link.revealed_at)
        if refusal := reveal_refusal(state, is_public=linked.method.public_at is not None):
            raise RefusedError([refusal])
        if link.revealed_at is not None:
            return False
        link.revealed_at = func.clock_timestamp()
        return True

    return _change(platform, actor, link_id, "link.reveal", change)


def _change(
    platform: Platform,
    actor: Actor,
    link_id: int,
    action: str,
    change: Callable[[LinkedEntry, AnonymousLink], bool],
) -> int:
    """Change a link of the reader's team, and record it if that changed anything; returns its entry. Raises NotFoundError."""
    with platform.transaction() as session:
        linked = queries.lock_entry_of_link(session, actor, link_id)
        link = session.get(AnonymousLink, link_id, populate_existing=True) if linked else None
        if linked is None or link is None:
            raise NotFoundError(f"your team has no link {link_id}")
        if change(linked, link):
            _record(session, actor, linked, link, action)
        return link.entry_id


def _record(session: Session, actor: Actor, linked: LinkedEntry, link: AnonymousLink, action: str) -> None:
    record(
        session,
        actor.user_id,
        action,
        f"anonymous link {link.id}",
        edition_id=linked.method.edition_id,
        details={"entry": linked.entry.id, "run": link.run_id},
    )


def anonymous_result(platform: Platform, token: str) -> tuple[AnonymousResult, tuple[ExhibitView, ...]] | int:
    """What a link shows to everybody, with its curves and further tables; of a revealed one, its submission.

    Values are disclosed as on a board, also to organisers. Raises NotFoundError.
    """
    with platform.snapshot() as session:
        found = queries.linked_run(session, token)
        if found is None:
            raise NotFoundError("there is no such link, or it was revoked")
        link, run, entry, stored_phase, method = found
        if link.revealed_at is not None and method.public_at is not None:
            return entry.submission_id
        phase = editions.phase_of_id(session, stored_phase.id)
        assert phase is not None
        sight = public_sight(phase).of_result(is_complete=entry.is_complete)
        is_withdrawn = entry.state is EntryState.WITHDRAWN
        scores = {} if is_withdrawn else submissions.scores_of(session, [run.id])
        ladder = disclosure.headlines(session, [run.ladder_run_id]).get(run.ladder_run_id or 0)
        [version] = submissions.truth_versions(session, [run.ground_truth_id]).values()
        queue = places.places_of(platform, session, [run.id])
        shown = run_view(run, version, RunScores(scores.get(run.id, []), ladder), queue, sight)
        further = exhibits.exhibits_of(session, run.id) if sight.details and not is_withdrawn else []
    info = scoring.competition_of(phase.dataset, entry.competition)
    result = AnonymousResult(
        edition=phase.edition,
        edition_title=phase.edition_title,
        image_set=phase.image_set,
        competition=entry.competition,
        title=info.title,
        data_rule=info.own_data_rule,
        protocol=shown.protocol,
        ground_truth=version,
        scorer=shown.scorer,
        measure=shown.measure,
        headline=shown.headline,
        headline_reason=shown.headline_reason,
        low=shown.low,
        high=shown.high,
        classes=shown.classes,
        withheld=withheld(phase, sight, is_complete=entry.is_complete),
        is_withdrawn=is_withdrawn,
    )
    table = (_table(result),) if result.classes else ()
    return result, (*table, *exhibits_of(further))


def _table(result: AnonymousResult) -> ExhibitView:
    measure = result.measure or "Score"
    return ExhibitView("score_table", measure, result.classes, result.headline, result.low, result.high)
