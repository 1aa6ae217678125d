"""HTML pages: the six steps that create a challenge, its drafts, opening and deleting one."""

from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

import scoring
from app.challenges import examples
from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.challenges.texts import NewTexts
from app.core.access import Action, Actor
from app.core.errors import ConflictError
from app.core.rate_limits import Limited
from app.intake import annotated_pictures, draft_phases
from app.intake.annotated_pictures import ShownPictures
from app.intake.draft_phases import Task
from app.models import ChallengeVisibility
from app.organising import draft_rules, drafts
from app.organising.draft_rules import (
    Check,
    ClassRows,
    Opening,
    RulesChoice,
    ScoringChoice,
    Step,
    TermsChoice,
    What,
)
from app.organising.drafts import DraftView, NewCopy
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.markdown import foreign_images
from app.web.zones import in_form

router = APIRouter(prefix="/organise")
CREATE, ORGANISE, OWN = requires(Action.CREATE), requires(Action.ORGANISE), requires(Action.OWN)
HERE: Final = "/new/{challenge}"
COPY: Final = {name: f"copy_{name}" for name in NewCopy.model_fields}
VISIBILITIES: Final = {
    ChallengeVisibility.LISTED: "Everybody finds it in lists and searches",
    ChallengeVisibility.LINK: "By link: whoever has the address",
    ChallengeVisibility.INVITED: "Invited: the addresses and domains below; codes can be made later under Visibility",
}
TERMS: Final = {
    TermsChoice.NONE: "No terms",
    TermsChoice.RESEARCH: "Research and teaching: use of the data, licences, one account, honest use of the quota",
    TermsChoice.OWN: "Your own, below",
}


def _to(code: str, step: str = "") -> Response:
    return RedirectResponse(f"/organise/new/{quote(code)}{f'/{step}' if step else ''}", status_code=303)


def _overview(code: str, form: Form | None = None) -> Response:
    """Go to the overview; raise ConflictError for a form that was refused because the challenge was opened meanwhile."""
    if form is not None and form.refused:
        raise ConflictError("; ".join(form.refused))
    return RedirectResponse(f"/organise/challenges/{quote(code)}", status_code=303)


# beginning


@router.get("/new", dependencies=[CREATE])
def start(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Begin a new challenge, or go on with a draft."""
    return _start(request, platform, actor, Form())


def _start(request: Request, platform: Platform, actor: Actor, form: Form) -> Response:
    return render(
        request,
        "organisers/new/start.html",
        page=drafts.start_page(platform, actor),
        form=form.fill({"template": "voc", "tracks": "one"}),
        tasks=tuple(Task),
        steps=draft_rules.TITLES,
    )


@router.post("/new", dependencies=[CREATE, limited(Limited.CHANGE)])
def create(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Create a draft from the first step."""
    with form.showing_errors():
        return _to(drafts.create(platform, actor, form.read(What)), Step.DATA)
    return _start(request, platform, actor, form)


@router.post("/new/copies", dependencies=[CREATE, limited(Limited.CHANGE)])
def copy(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Create a draft with the settings of a challenge that one organises, without its data."""
    with form.showing_errors(names=COPY):
        source = form.text("copy_source")
        return _to(drafts.copy(platform, actor, source, form.read(NewCopy)), Step.WHAT)
    return _start(request, platform, actor, form)


# the steps


@router.get(HERE, dependencies=[ORGANISE])
def go_on(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Go to the first step that is not done."""
    view = drafts.draft_of(platform, actor, challenge)
    first = next((each for each in Step if each not in view.done), None)
    return _overview(challenge) if first is None or view.is_open else _to(challenge, first)


def _step(
    request: Request, platform: Platform, actor: Actor, challenge: str, step: Step, form: Form
) -> Response:
    """Show a step with what was typed, or else as it is saved."""
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge, form)
    return render(
        request,
        f"organisers/new/{step}.html",
        view=view,
        step=step,
        steps=draft_rules.TITLES,
        intake=view.intake,
        form=form.fill(form_of(step, view)),
        shown=_pictures(platform, actor, view) if step is Step.CHECK else None,
        **context_of(step, view),
    )


def _pictures(platform: Platform, actor: Actor, view: DraftView) -> ShownPictures | None:
    """Return the pictures of a data set that was read, with their annotation drawn."""
    is_there = view.intake is not None and view.is_read and not view.is_busy
    return annotated_pictures.shown(platform, actor, view.intake.id) if view.intake and is_there else None


def form_of(step: Step, view: DraftView) -> dict[str, Any]:
    """Return the fields of a step as they are saved, or proposed."""
    draft = view.draft
    match step:
        case Step.WHAT:
            stored = {name: getattr(draft, name) for name in ("template", "tasks", "tracks")}
            return {
                **stored,
                "title": view.challenge.title,
                "code": view.challenge.code,
                "tagline": view.texts.tagline,
            }
        case Step.CHECK:
            classes = view.intake.report.classes if view.intake and view.intake.report else ()
            return {
                "sets": [each.key for each in view.chosen],
                "without_picture": draft.without_picture,
                "names": [each.name for each in classes],
                "positions": list(range(1, len(classes) + 1)),
                "ignored": [each.found for each in classes if each.is_ignored],
            }
        case Step.SCORING if view.phases:
            return ScoringChoice.form_of(view.main[0].protocol, view.main[0].rules)
        case Step.RULES if view.phases:
            return _form_of_rules(view)
        case Step.PAGE:
            stored = {name: getattr(view.texts, name) for name in NewTexts.model_fields}
            return {**stored, "overview": stored["overview"] or drafts.proposed_page(view)}
        case _:
            return {}


def _form_of_rules(view: DraftView) -> dict[str, Any]:
    challenge, draft, rules = view.challenge, view.draft, view.main[0]
    per = {quota.days: quota.results for quota in rules.own_quotas}
    return {
        "opens_at": in_form(rules.opens_at) if rules.state == "upcoming" else "",
        "closes_at": in_form(rules.closes_at),
        "per_day": per.get(1, ""),
        "per_week": per.get(7, ""),
        "total": per.get(None, ""),
        "approves_teams": challenge.approves_teams,
        "most_members": challenge.most_members or "",
        "visibility": draft.opens_to,
        "invited": "\n".join(view.invited),
        "image_licence": draft.image_licence,
        "annotation_licence": draft.annotation_licence,
        **draft_rules.form_of_terms(view.terms, drafts.research_terms(challenge.title, draft)),
    }


def context_of(step: Step, view: DraftView) -> dict[str, Any]:
    """Return what a step shows beside its fields."""
    if step is Step.WHAT:
        return {"tasks": tuple(Task)}
    if step is Step.RULES:
        return {"quotas": _proposed_quotas(view), "visibilities": VISIBILITIES, "choices": TERMS}
    if step is not Step.SCORING or not view.phases:
        return {}
    phase = view.main[0]
    tasks = dict.fromkeys(
        each.task for each in scoring.competitions(phase.dataset) if each.number not in phase.not_offered
    )
    found = [examples.task_rules(phase.protocol, task) for task in tasks]
    return {
        "protocols": {
            name: scoring.PROTOCOLS[name].title for name in draft_phases.protocols_of(phase.dataset)
        },
        "explained": [each for each in found if each is not None],
        "protocol": phase.protocol,
        "levels": DISCLOSURE_LEVELS,
    }


def _proposed_quotas(view: DraftView) -> Any:
    if not view.has_hidden or view.main[0].closes_at is None:
        return None
    return draft_rules.proposed_quotas(view.main[0].opens_at, view.main[0].closes_at)


@router.post(f"{HERE}/data-set", dependencies=[ORGANISE])
def start_data_set(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Start the data set of a draft that has none."""
    drafts.start_data_set(platform, actor, challenge)
    return _to(challenge, Step.DATA)


@router.post(f"{HERE}/classes", dependencies=[ORGANISE])
def save_classes(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Save which classes count, their names and order, and have a worker read the data set again."""
    with form.showing_errors():
        drafts.save_classes(platform, actor, challenge, form.read(ClassRows))
        return _to(challenge, Step.CHECK)
    return _step(request, platform, actor, challenge, Step.CHECK, form)


@router.post(f"{HERE}/names", dependencies=[ORGANISE])
def save_names(platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm) -> Response:
    """Give hidden images neutral names, or their own again, and have a worker read the data set again."""
    drafts.save_names(platform, actor, challenge, is_neutral=bool(form.text("neutral")))
    return _to(challenge, Step.CHECK)


# opening and deleting


@router.get(f"{HERE}/open", dependencies=[ORGANISE])
def ask_to_open(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask before the challenge opens, which cannot be taken back."""
    return _confirm(request, platform, actor, challenge, "open")


def _confirm(request: Request, platform: Platform, actor: Actor, challenge: str, act: str) -> Response:
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge)
    return render(request, "organisers/new/confirm.html", view=view, act=act)


@router.post(f"{HERE}/open", dependencies=[ORGANISE])
def open_now(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Open the challenge now."""
    drafts.open_now(platform, actor, challenge)
    return _overview(challenge)


@router.get(f"{HERE}/schedule", dependencies=[ORGANISE])
def schedule(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask when the challenge is to open by itself."""
    return _schedule(request, platform, actor, challenge, Form())


def _schedule(request: Request, platform: Platform, actor: Actor, challenge: str, form: Form) -> Response:
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge, form)
    form.fill({"opens_at": in_form(view.draft.opens_at)})
    return render(request, "organisers/new/schedule.html", view=view, form=form)


@router.post(f"{HERE}/schedule", dependencies=[ORGANISE])
def open_on(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Have the challenge open by itself at a time; without one, no longer."""
    with form.showing_errors():
        drafts.open_on(platform, actor, challenge, form.read(Opening).opens_at)
        return _overview(challenge)
    return _schedule(request, platform, actor, challenge, form)


@router.get(f"{HERE}/delete", dependencies=[OWN])
def ask_to_delete(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask before a draft is deleted for good."""
    return _confirm(request, platform, actor, challenge, "delete")


@router.post(f"{HERE}/delete", dependencies=[OWN])
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Delete a draft with its data."""
    drafts.delete_draft(platform, actor, challenge)
    return RedirectResponse("/organise/new", status_code=303)


# these come last, because their addresses begin like the others


@router.get(f"{HERE}/{{step}}", dependencies=[ORGANISE])
def show(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, step: Step
) -> Response:
    """Show a step."""
    return _step(request, platform, actor, challenge, step, Form())


@router.post(f"{HERE}/{{step}}", dependencies=[ORGANISE])
def save(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, step: Step, form: TheForm
) -> Response:
    """Save a step and go on to the next; the second has a worker read the data set."""
    with form.showing_errors():
        match step:
            case Step.WHAT:
                challenge = drafts.save_what(platform, actor, challenge, form.read(What))
            case Step.DATA:
                drafts.read(platform, actor, challenge)
            case Step.CHECK:
                drafts.save_check(platform, actor, challenge, form.read(Check))
            case Step.SCORING:
                drafts.save_scoring(platform, actor, challenge, form.read(ScoringChoice))
            case Step.RULES:
                drafts.save_rules(platform, actor, challenge, form.read(RulesChoice))
            case Step.PAGE:
                new = form.read(NewTexts)
                drafts.save_page(platform, actor, challenge, new)
                # the step says which images are not shown
                return (
                    _to(challenge, Step.PAGE)
                    if foreign_images(new.markdown, challenge)
                    else _overview(challenge)
                )
        return _to(challenge, list(Step)[list(Step).index(step) + 1])
    return _step(request, platform, actor, challenge, step, form)
