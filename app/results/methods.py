"""The contents of a method's page."""

from dataclasses import dataclass

from app.challenges import challenges
from app.challenges.disclosure import visibility_for
from app.core.access import Actor
from app.core.errors import NotFoundError
from app.people.teams import MemberView, members_of
from app.platform import Platform
from app.results import standings
from app.results.standings import ResultView
from app.submissions import methods, questions
from app.submissions.methods import MethodRevision, MethodView
from app.submissions.questions import AnsweredQuestion


@dataclass(frozen=True, slots=True)
class MethodPage:
    """A method with its origin, its earlier descriptions, and what the reader may do with it."""

    method: MethodView
    challenge: str
    challenge_title: str
    team_id: int
    team: str
    members: tuple[MemberView, ...]  # of the team, those who agreed to be named
    has_more_members: bool  # the team's page lists them
    submissions: tuple[int, ...]
    results: tuple[ResultView, ...]  # on boards
    changes: tuple[MethodRevision, ...]
    answers: tuple[AnsweredQuestion, ...]  # to the challenge's questions
    training: tuple[str, ...]  # what its results on boards were trained on, in the team's words
    shortest_description: int  # characters that a public method's description needs
    is_ours: bool
    can_rename: bool
    unpublishable: str | None  # why it cannot be made public yet


def method_page(platform: Platform, actor: Actor, method_id: int) -> MethodPage:
    """Return a method with its description.

    Raises NotFoundError, also for a method that the reader may not see.
    """
    with platform.snapshot() as session:
        found = methods.method_of(session, actor, method_id)
        if found is None:
            raise NotFoundError(f"there is no method {method_id}, or it is not public")
        method, team, challenge = found
        is_ours = actor.is_member(method.team_id)
        phases = challenges.phases_of(session, challenge.code)
        people = members_of(session, method.team_id, only_named=True)
        sees_all = (
            is_ours
            or actor.organises_challenge(method.challenge_id)
            or actor.views_challenge(method.challenge_id)
        )
        visibilities = {phase.id: (phase, visibility_for(actor, phase)) for phase in phases}
        results = standings.results_of_methods(session, (method_id,), visibilities, only_public=not sees_all)
        return MethodPage(
            method=methods.method_view(method),
            challenge=challenge.code,
            challenge_title=challenge.title,
            team_id=team.id,
            team=team.name,
            members=people.members,
            has_more_members=people.next is not None,
            results=results,
            submissions=methods.submissions_of(session, actor, method),
            changes=methods.changes_of(session, method),
            answers=questions.answered(session, method),
            training=methods.stated_training(
                session, {each.submission for each in results}, is_baseline=method.is_baseline
            ),
            shortest_description=challenge.shortest_description,
            is_ours=is_ours,
            can_rename=is_ours and not methods.has_score(session, method_id),
            unpublishable=methods.unpublishable_reason(session, method),
        )


def own_method_page(platform: Platform, actor: Actor, method_id: int) -> MethodPage:
    """Return a method of the reader's team. Raises NotFoundError for others."""
    page = method_page(platform, actor, method_id)
    if not page.is_ours:
        raise NotFoundError(f"your team has no method {method_id}")
    return page
