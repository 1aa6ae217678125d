"""Anonymous links, which show reviewers a result without its team."""

import enum
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, contains_eager, joinedload

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import is_open_to_others, is_withheld
from app.challenges.disclosure import public_visibility, withheld
from app.core.access import Action, Actor, rows_for, visible_to
from app.core.audit import record
from app.core.errors import NoLink, NotFoundError, Refusal, RefusedError
from app.jobs import places
from app.models import AnonymousLink, Method, Phase, Result, ResultState, Run, Submission
from app.people.teams import is_shown
from app.platform import Platform
from app.results import exhibits
from app.results.exhibits import ClassValue, ExhibitView, exhibits_of
from app.results.scores import load_headlines, load_scores
from app.results.submissions import run_view
from heldout_scoring.competitions import name_of

MOST_LINKS = 10  # of one result, revoked and revealed ones not counted


class LinkState(enum.StrEnum):
    """What an anonymous link shows."""

    ANONYMOUS = "anonymous"
    REVEALED = "revealed"  # redirects to the submission
    REVOKED = "revoked"  # not found


def link_state(revoked_at: datetime | None, revealed_at: datetime | None) -> LinkState:
    """Return the state of a link. A revoked one shows nothing, even if it was revealed before."""
    if revoked_at is not None:
        return LinkState.REVOKED
    return LinkState.REVEALED if revealed_at is not None else LinkState.ANONYMOUS


def link_refusals(
    result: ResultState, *, is_public: bool, is_embargoed: bool, links: int
) -> tuple[Refusal, ...]:
    """Return every reason why a result cannot have another anonymous link; `links` counts the active ones."""
    found = []
    if result is not ResultState.SCORED:
        found.append("only a result with a score can have an anonymous link")
    if is_public:
        found.append("the method is public, so everyone can see whose result it is")
    if is_embargoed:
        found.append("scores of this phase are shown to others once it is over")
    if links >= MOST_LINKS:
        found.append(
            f"this result has {links} anonymous links, and at most {MOST_LINKS} are allowed; revoke one first"
        )
    return tuple(NoLink(message) for message in found)


def reveal_refusal(state: LinkState, *, is_public: bool) -> Refusal | None:
    """Return why a link cannot redirect to the submission, which only a public method's can."""
    if state is LinkState.REVOKED:
        return NoLink("this link was revoked; create another one")
    if not is_public:
        return NoLink("make the method public first; then the link can show its team")
    return None


@dataclass(frozen=True, slots=True)
class AnonymousLinkView:
    """A link as shown to its team."""

    id: int
    path: str
    address: str  # the full URL, to be copied
    state: LinkState
    created_at: datetime
    run: int


@dataclass(frozen=True, slots=True)
class LinksPage:
    """The anonymous links of a result, and reasons why it cannot have another."""

    result: int
    submission: int
    method: str
    competition: int
    title: str
    links: tuple[AnonymousLinkView, ...]
    refusals: tuple[str, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class AnonymousResult:
    """One scoring of a result, without team, method, account, archive and dates."""

    challenge: str
    challenge_title: str
    image_set: str
    competition: int
    title: str
    data_rule: str
    protocol: str
    ground_truth: int  # version
    scorer: str
    measure: str | None
    headline: float | None
    headline_reason: str | None
    low: float | None
    high: float | None
    classes: tuple[ClassValue, ...]
    withheld: str | None
    is_withdrawn: bool  # the result was withdrawn: no values


@dataclass(frozen=True, slots=True)
class LinkedResult:
    """A result and its method."""

    result: Result
    method: Method
    phase: Phase


def linkable_result(session: Session, actor: Actor, result_id: int) -> LinkedResult | None:
    """Return a result whose anonymous links the reader may manage."""
    return _linked(session, _linkable(actor, Result.id == result_id))


def lock_linkable_result(session: Session, actor: Actor, result_id: int) -> LinkedResult | None:
    """Return the same, locked against concurrent changes of its links."""
    return _linked(session, _linkable(actor, Result.id == result_id).with_for_update(of=Result))


def lock_result_of_link(session: Session, actor: Actor, link_id: int) -> LinkedResult | None:
    """Return the result of a link that the reader may manage, locked."""
    of_link = select(AnonymousLink.result_id).where(AnonymousLink.id == link_id).scalar_subquery()
    return _linked(session, _linkable(actor, Result.id == of_link).with_for_update(of=Result))


def _linkable(actor: Actor, which: ColumnElement[bool]) -> Select[Result, Method, Phase]:
    return (
        select(Result, Method, Phase)
        .join(Result.method)
        .join(Result.phase)
        .where(which, rows_for(actor, Action.LINK, team=Method.team_id, challenge=Phase.challenge_id))
    )


def _linked(session: Session, statement: Select[Result, Method, Phase]) -> LinkedResult | None:
    row = session.execute(statement).one_or_none()
    return LinkedResult(*row) if row else None


def links_of(session: Session, result_id: int) -> list[AnonymousLink]:
    """Return the links of a result, newest first."""
    statement = select(AnonymousLink).where(AnonymousLink.result_id == result_id)
    return list(session.scalars(statement.order_by(AnonymousLink.id.desc())))


def shown_link(session: Session, actor: Actor, token: str) -> AnonymousLink | None:
    """Return a link with its run; None if it is revoked, under an embargo, or of a suspended team with hidden results."""
    statement = (
        select(AnonymousLink)
        .join(AnonymousLink.result)
        .join(Result.phase)
        .join(Result.method)
        .options(
            contains_eager(AnonymousLink.result).contains_eager(Result.method),
            joinedload(AnonymousLink.run).joinedload(Run.ground_truth),
        )
        .where(
            AnonymousLink.token == token,
            AnonymousLink.revoked_at.is_(None),
            is_open_to_others(Phase.id, Result.submission_id),
            is_shown(Method.team_id),
            visible_to(actor, Phase.challenge_id),
        )
    )
    return session.scalar(statement)


def links_page(platform: Platform, actor: Actor, result_id: int) -> LinksPage:
    """Return the anonymous links of a result of the reader's team. Raises NotFoundError."""
    with platform.transaction() as session:
        linked = linkable_result(session, actor, result_id)
        if linked is None:
            raise NotFoundError(f"your team has no result {result_id}")
        links = tuple(_view(platform, link) for link in links_of(session, result_id))
        phase = challenges.phase_of_id(session, linked.phase.id)
        assert phase is not None
        result, method = linked.result, linked.method
        return LinksPage(
            result=result_id,
            submission=result.submission_id,
            method=method.name,
            competition=result.competition,
            title=name_of(phase.dataset, result.competition),
            links=links,
            refusals=tuple(each.message for each in _refusals(session, linked)),
            is_public=method.public_at is not None,
        )


def _view(platform: Platform, link: AnonymousLink) -> AnonymousLinkView:
    state = link_state(link.revoked_at, link.revealed_at)
    path = f"/anonymous/{link.token}"
    address = platform.settings.address.rstrip("/") + path
    return AnonymousLinkView(link.id, path, address, state, link.created_at, link.run_id)


def _refusals(session: Session, linked: LinkedResult) -> tuple[Refusal, ...]:
    links = links_of(session, linked.result.id)
    states = [link_state(link.revoked_at, link.revealed_at) for link in links]
    return link_refusals(
        linked.result.state,
        is_public=linked.method.public_at is not None,
        is_embargoed=_is_embargoed(session, linked),
        links=states.count(LinkState.ANONYMOUS),
    )


def _is_embargoed(session: Session, linked: LinkedResult) -> bool:
    phase = challenges.phase_of_id(session, linked.phase.id)
    assert phase is not None
    return is_withheld(phase, session.get_one(Submission, linked.result.submission_id).created_at)


def create(platform: Platform, actor: Actor, result_id: int) -> AnonymousLinkView:
    """Create an anonymous link to this result's current run on the board. Raises NotFoundError, RefusedError."""
    with platform.transaction() as session:
        linked = lock_linkable_result(session, actor, result_id)
        if linked is None:
            raise NotFoundError(f"your team has no result {result_id}")
        if found := _refusals(session, linked):
            raise RefusedError(found)
        link = AnonymousLink(
            token=secrets.token_urlsafe(24),
            result_id=result_id,
            run_id=linked.result.published_run_id,
            created_by=actor.user_id,
        )
        session.add(link)
        session.flush()
        _record(session, actor, linked, link, "link.create")
        return _view(platform, link)


def revoke(platform: Platform, actor: Actor, link_id: int) -> int:
    """Revoke a link permanently, and return its result. Raises NotFoundError."""

    def change(_: LinkedResult, link: AnonymousLink) -> bool:
        if link.revoked_at is not None:
            return False
        link.revoked_at = func.clock_timestamp()
        return True

    return _change(platform, actor, link_id, "link.revoke", change)


def reveal(platform: Platform, actor: Actor, link_id: int) -> int:
    """Redirect a link to the submission, and return its result. Raises NotFoundError, RefusedError."""

    def change(linked: LinkedResult, link: AnonymousLink) -> bool:
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
    change: Callable[[LinkedResult, AnonymousLink], bool],
) -> int:
    """Change a link of the reader's team, record any change, and return its result. Raises NotFoundError."""
    with platform.transaction() as session:
        linked = lock_result_of_link(session, actor, link_id)
        link = session.get(AnonymousLink, link_id, populate_existing=True) if linked else None
        if linked is None or link is None:
            raise NotFoundError(f"your team has no link {link_id}")
        if change(linked, link):
            _record(session, actor, linked, link, action)
        return link.result_id


def _record(session: Session, actor: Actor, linked: LinkedResult, link: AnonymousLink, action: str) -> None:
    record(
        session,
        actor.user_id,
        action,
        f"anonymous link {link.id}",
        challenge_id=linked.method.challenge_id,
        details={"result": linked.result.id, "run": link.run_id},
    )


def anonymous_result(
    platform: Platform, actor: Actor, token: str
) -> tuple[AnonymousResult, tuple[ExhibitView, ...]] | int:
    """Return the public view of a link, with its curves and further tables; of a revealed one, its submission.

    Values are disclosed as on a board, even to organisers. Raises NotFoundError.
    """
    with platform.snapshot() as session:
        link = shown_link(session, actor, token)
        if link is None:
            raise NotFoundError("there is no such link, or it was revoked")
        run, result = link.run, link.result
        if link.revealed_at is not None and result.method.public_at is not None:
            return result.submission_id
        phase = challenges.phase_of_id(session, result.phase_id)
        assert phase is not None
        visibility = public_visibility(phase).of_result(is_complete=result.is_complete)
        is_withdrawn = result.state is ResultState.WITHDRAWN
        scores = {} if is_withdrawn else load_scores(session, [run.id])
        ladder = load_headlines(session, [run.ladder_run_id]).get(run.ladder_run_id or 0)
        version = run.ground_truth.version
        queue = places.places_of(platform, session, [run.id])
        shown = run_view(run, version, scores.get(run.id, {}), ladder, queue, visibility)
        further = exhibits.stored_exhibits(session, run.id) if visibility.details and not is_withdrawn else []
    info = heldout_scoring.competition_of(phase.dataset, result.competition)
    shown_result = AnonymousResult(
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        image_set=phase.image_set,
        competition=result.competition,
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
        withheld=withheld(phase, visibility, is_complete=result.is_complete),
        is_withdrawn=is_withdrawn,
    )
    table = (_table(shown_result),) if shown_result.classes else ()
    return shown_result, (*table, *exhibits_of(further))


def _table(result: AnonymousResult) -> ExhibitView:
    measure = result.measure or "Score"
    return ExhibitView("score_table", measure, result.classes, result.headline, result.low, result.high)
