"""The page on which an archive is uploaded, checked and submitted, whatever has been done so far."""

import json
import shlex
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import asking, challenges, terms, texts
from app.challenges.asking import Asking
from app.challenges.challenges import (
    PhaseView,
    description_of,
    find_phase,
    largest_archive,
    offered_competitions,
    tasks_of,
)
from app.challenges.examples import line_grammar
from app.challenges.phase_rules import PhaseState
from app.challenges.terms import RequiredStep, required_step
from app.core.access import Actor
from app.core.errors import Refusal
from app.jobs.places import Outlook, outlook_of
from app.people import teams
from app.people.teams import FirstTeam
from app.platform import Platform
from app.submissions import methods, quotas, uploads
from app.submissions.acceptance import Archive, Proposal, refusals, smallest_proposal
from app.submissions.consequences import Consequence, consequences
from app.submissions.methods import KnownMethod
from app.submissions.questions import QuestionView, questions_of, shortest_description
from app.submissions.quotas import QuotaLine
from app.submissions.submitting import prior_results
from app.submissions.uploads import UploadView
from heldout_scoring import CompetitionInfo, Limits

LONGEST_NAME: Final = 40
MOST_COMPETITIONS: Final = 20


class SubmitChoice(BaseModel):
    """What somebody has chosen for an upload so far, as the page shows what follows."""

    model_config = ConfigDict(frozen=True)

    method: Annotated[str, Field(max_length=LONGEST_NAME, description="its name")] = ""
    competition: Annotated[
        tuple[int, ...], Field(max_length=MOST_COMPETITIONS, description="those to submit for")
    ] = ()
    is_chosen: Annotated[
        bool, Field(description="whether competitions were chosen; otherwise all of the archive")
    ] = False
    make_public: Annotated[bool, Field(description="whether the method becomes public")] = False
    again: Annotated[bool, Field(description="submit an upload that was submitted before")] = False

    def competitions_of(self, upload: UploadView) -> tuple[int, ...]:
        """Return the competitions to submit for."""
        return tuple(sorted(set(self.competition))) if self.is_chosen else upload.competitions


@dataclass(frozen=True, slots=True)
class ExpectedFiles:
    """A competition with the format of a line of its prediction files."""

    info: CompetitionInfo
    grammar: str

    @property
    def has_any_name(self) -> bool:
        """Whether its prediction file may have any name."""
        return self.info.has_any_name


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What is needed to submit a valid upload, and what follows from it.

    known: the team's method with the chosen name; names: of all its methods here; quota: what is left for the chosen tasks;
    name_refusals: why the method cannot be chosen; refusals: why nothing can be submitted now.
    """

    names: tuple[str, ...]
    known: KnownMethod | None
    questions: tuple[QuestionView, ...]
    shortest_description: int
    quota: tuple[QuotaLine, ...]
    consequences: tuple[Consequence, ...]
    name_refusals: tuple[str, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmitPage:
    """The page to submit on. quota: what is left for all tasks; largest: bytes of an archive; steps: to take before submitting."""

    phase: PhaseView
    competitions: tuple[ExpectedFiles, ...]
    quota: tuple[QuotaLine, ...]
    largest: int
    limits: Limits
    contact: str  # of the organisers
    asking: Asking  # where they are asked
    outlook: Outlook  # what a submission would meet in the queue now
    steps: tuple[RequiredStep, ...] = ()
    can_upload: bool = True
    upload: UploadView | None = None
    confirmation: Confirmation | None = None  # of a valid upload that the reader may submit
    first_team: FirstTeam | None = (
        None  # the reader's, of an upload of theirs, as long as they may found another
    )
    others: tuple[str, ...] = ()  # image sets of the challenge's other open phases; none beside an upload

    @property
    def is_blocked(self) -> bool:
        """Whether nothing can be submitted now, whatever the reader does; steps can be taken in another tab meanwhile."""
        return self.confirmation is None or bool(self.confirmation.refusals)


def empty_page(platform: Platform, actor: Actor, challenge: str, image_set: str) -> SubmitPage:
    """Load the page before anything was uploaded. Raises NotFoundError."""
    return _page(platform, actor, challenge, image_set, None, SubmitChoice())


def page_of_upload(
    platform: Platform, actor: Actor, upload_id: uuid.UUID, choice: SubmitChoice
) -> SubmitPage:
    """Load the page of an upload. Raises NotFoundError."""
    upload = uploads.get_upload(platform, actor, upload_id)
    return _page(platform, actor, upload.challenge, upload.image_set, upload, choice)


def _page(
    platform: Platform,
    actor: Actor,
    challenge: str,
    image_set: str,
    upload: UploadView | None,
    choice: SubmitChoice,
) -> SubmitPage:
    here = f"/uploads/{upload.id}" if upload else f"/challenges/{challenge}/{image_set}/submit"
    with platform.snapshot() as session:
        phase = find_phase(session, challenge, image_set)
        steps = tuple(
            required_step(refusal, phase, here)
            for refusal in terms.submission_refusals(session, actor, phase)
        )
        confirmation = None
        if (
            upload is not None
            and upload.is_ours
            and upload.valid
            and (choice.again or not upload.submissions)
        ):
            confirmation = _confirmation(session, actor, phase, upload, choice)
        others = () if upload else open_phases_beside(session, phase)
        quota = quotas.lines(session, actor, phase)
        can_upload = not terms.refusals_of_upload(session, actor, phase)
        contact = texts.contact_of(session, phase.challenge_id)
        outlook = outlook_of(platform, session, heldout_scoring.SCORER, phase.id)
        place = asking.asking_of(session, phase.challenge_id)
        first_team = None
        if upload and upload.is_ours:
            first_team = teams.first_team_of(session, actor.user_id, phase.challenge_id)
            place = replace(place, asked=asking.asked_about(session, actor, upload.id))
    return SubmitPage(
        phase=phase,
        competitions=tuple(
            ExpectedFiles(each, line_grammar(each.task)) for each in offered_competitions(phase)
        ),
        quota=quota,
        largest=largest_archive(phase, platform.settings.max_upload),
        limits=description_of(platform.descriptions, phase.description_key).limits,
        contact=contact,
        asking=place,
        outlook=outlook,
        steps=steps,
        can_upload=can_upload,
        upload=upload,
        confirmation=confirmation,
        first_team=first_team,
        others=others,
    )


def open_phases_beside(session: Session, phase: PhaseView) -> tuple[str, ...]:
    """Return the image sets of the other open phases of a challenge."""
    phases = challenges.phases_of(session, phase.challenge)
    return tuple(each.image_set for each in phases if each.state is PhaseState.OPEN and each.id != phase.id)


def _confirmation(
    session: Session,
    actor: Actor,
    phase: PhaseView,
    upload: UploadView,
    choice: SubmitChoice,
) -> Confirmation:
    team_id = teams.team_in(session, actor.user_id, phase.challenge_id) or 0
    name = choice.method.strip()
    known = methods.known_method(session, phase.challenge_id, team_id, name) if name else None
    prior = prior_results(session, team_id, phase.id)
    usage = quotas.usage(session, phase, team_id, actor.user_id or 0)
    now, tasks = challenges.now(session), tasks_of(phase)
    archive = Archive(upload.started_at, upload.valid, upload.competitions, upload.is_removed)
    chosen = choice.competitions_of(upload)
    proposal = Proposal(known.view.name if known else name, chosen, tasks)
    quota = quotas.quota_lines(now, phase.quotas, _tasks(chosen, tasks), usage)
    found = [each for each in (upload.report or {}).get("competitions", ()) if each["number"] in chosen]
    is_public = choice.make_public or (known is not None and known.view.public_at is not None)
    least = refusals(now, phase, archive, smallest_proposal(archive, tasks), prior, usage)
    return Confirmation(
        names=tuple(each.name for each in methods.methods_of(session, phase.challenge_id, team_id)),
        known=known,
        questions=questions_of(session, phase.challenge_id),
        shortest_description=shortest_description(session, phase.challenge_id),
        quota=quota,
        consequences=consequences(phase, found, quota, now, is_public=is_public),
        name_refusals=_on_name(refusals(now, phase, archive, proposal, prior, usage)) if known else (),
        refusals=tuple(refusal.message for refusal in least),
    )


def _tasks(competitions: Iterable[int], tasks: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tasks[number] for number in competitions if number in tasks))


def _on_name(refusals: Iterable[Refusal]) -> tuple[str, ...]:
    return tuple(refusal.message for refusal in refusals if refusal.field == "name")


def call_of(
    address: str,
    upload: UploadView,
    choice: SubmitChoice,
    training: Mapping[str, Any],
    answers: Mapping[str, str],
) -> str:
    """Return the command line that does by the API what the form does, for a shell; address: of the server."""
    method = {"name": choice.method.strip() or "MY_METHOD"} | ({"answers": dict(answers)} if answers else {})
    body = {
        "upload": str(upload.id),
        "method": method,
        "competitions": choice.competitions_of(upload),
        "training": {name: value for name, value in training.items() if value},
    } | ({"make_public": True} if choice.make_public else {})
    return " \\\n  ".join(
        (
            'curl -H "Authorization: Bearer $HELDOUT_TOKEN" -H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}",
            f"{address}/api/v1/submissions",
        )
    )
