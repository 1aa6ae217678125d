"""HTML pages: the six steps that create a challenge, its drafts, their phases, opening and deleting one."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData

import heldout_scoring
from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.challenges.pictures_from import ParticipantsPictures
from app.challenges.protocols import task_rules
from app.challenges.texts import NewTexts
from app.core.access import Action, Actor
from app.core.errors import ConflictError
from app.core.rate_limits import Limited
from app.intake import annotated_pictures, intakes
from app.intake.annotated_pictures import ShownPictures
from app.intake.table_choices import TableRequest
from app.models import ChallengeVisibility
from app.organising import deleting, draft_rules, drafts, setting_files
from app.organising.draft_rules import (
    Check,
    ClassRows,
    RulesChoice,
    ScoringChoice,
    Step,
    Task,
    TermsChoice,
    What,
)
from app.organising.drafts import DraftView, StepError
from app.organising.setting_files import NewCopy
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import LongForm, SentForm, TheForm, field_errors, values_of
from app.web.markdown import foreign_images
from app.web.route_marks import marked
from app.web.zones import in_form, moments_of

router = APIRouter(prefix="/organise")
CREATE, ORGANISE, OWN = requires(Action.CREATE), requires(Action.ORGANISE), requires(Action.OWN)
HERE: Final = "/new/{challenge}"
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
# pages of a draft that have the head of its steps and are none of them
OF_NO_STEP: Final[dict[str, Any]] = {"steps": draft_rules.TITLES, "step": "", "problems": NOTHING}
LISTS: Final = (
    "tasks",
    "sets",
    "seen",
    "found",
    "names",
    "positions",
    "ignored",
)  # fields with several values


def _values(sent: FormData, model: type[BaseModel]) -> dict[str, Any]:
    """Return what was sent for each field of a step, also of those with several values."""
    form = values_of(sent, model)
    for name in LISTS:
        if name in form:
            form[name] = [each for each in sent.getlist(name) if isinstance(each, str)]
    return form


def _to(code: str, step: str = "") -> Response:
    return RedirectResponse(f"/organise/new/{quote(code)}{f'/{step}' if step else ''}", status_code=303)


def _overview(code: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{quote(code)}", status_code=303)


# beginning


@router.get("/new", dependencies=[CREATE])
def start(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    way: Annotated[Literal["scratch", "copy"], Query(description="how to begin")] = "scratch",
) -> Response:
    """Begin a new challenge, or go on with a draft."""
    return _start(request, platform, actor, {"template": "voc", "tracks": "one"}, NOTHING, NOTHING, way)


def _start(
    request: Request,
    platform: Platform,
    actor: Actor,
    form: Mapping[str, Any],
    problems: Mapping[str, str],
    copy: Mapping[str, Any],
    way: str = "scratch",
) -> Response:
    return render(
        request,
        "organisers/new/start.html",
        way=way,
        code=422 if problems else 200,
        page=drafts.start_page(platform, actor),
        form=form,
        copy=copy,
        problems=problems,
        tasks=tuple(Task),
        steps=draft_rules.TITLES,
    )


@router.post("/new", dependencies=[CREATE, limited(Limited.CHANGE)])
def create(request: Request, platform: ThePlatform, actor: CurrentActor, sent: SentForm) -> Response:
    """Create a draft from the first step."""
    form = _values(sent, What)
    try:
        code = drafts.create(platform, actor, What.model_validate(form))
    except ValidationError as error:
        return _start(request, platform, actor, form, field_errors(error), NOTHING)
    except StepError as error:
        return _start(request, platform, actor, form, error.problems, NOTHING)
    return _to(code, Step.DATA)


@router.post("/new/copies", dependencies=[CREATE, limited(Limited.CHANGE)])
def copy(request: Request, platform: ThePlatform, actor: CurrentActor, sent: SentForm) -> Response:
    """Create a draft with the settings of a challenge that one organises, without its data."""
    names = ("source", "title", "code", "opens_at", "opens_zone", "closes_at", "closes_zone")
    form = {name: str(sent.get(f"copy_{name}", "")) for name in names}
    moments, problems = moments_of(form, ("opens_at", "closes_at"))
    try:
        new = NewCopy.model_validate({**form, **moments})
        if not problems:
            return _to(setting_files.copy(platform, actor, form["source"], new), Step.WHAT)
    except ValidationError as error:
        problems |= field_errors(error)
    except StepError as error:
        problems |= error.problems
    named = {f"copy_{name}": message for name, message in problems.items()}
    again = {f"copy_{name}": value for name, value in form.items()}
    return _start(request, platform, actor, {"template": "voc", "tracks": "one"}, named, again, "copy")


# the steps


@router.get(HERE, dependencies=[ORGANISE])
def go_on(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Go to the first step that is not done."""
    view = drafts.draft_of(platform, actor, challenge)
    first = next((each for each in Step if each not in view.done), None)
    return _overview(challenge) if first is None or view.is_open else _to(challenge, first)


def _step(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    step: Step,
    form: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] = NOTHING,
    code: int = 422,
) -> Response:
    """Show a step with what was typed, or else with its saved answer or a proposal."""
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge)
    return render(
        request,
        f"organisers/new/{step}.html",
        code=code if problems else 200,
        view=view,
        step=step,
        steps=draft_rules.TITLES,
        intake=view.intake,
        problems=problems,
        form=FORMS[step](view) if form is None else form,
        shown=_pictures(platform, actor, view) if step is Step.CHECK else None,
        **CONTEXTS[step](view),
    )


def _pictures(platform: Platform, actor: Actor, view: DraftView) -> ShownPictures | None:
    """Return the pictures of a data set that was read, with their annotation drawn."""
    is_there = view.intake is not None and view.is_read and not view.is_busy
    return annotated_pictures.shown(platform, actor, view.intake.id) if view.intake and is_there else None


def _as_form(model: type[BaseModel], answer: BaseModel | None, **proposed: Any) -> dict[str, Any]:
    """Return an answer as the fields of a form; without one what is proposed."""
    plain = answer.model_dump() if answer else proposed
    return {name: "" if plain.get(name) is None else plain[name] for name in model.model_fields}


def _form_of_what(view: DraftView) -> dict[str, Any]:
    tagline = view.texts.tagline if view.texts else ""
    return {**_as_form(What, view.answers.what), "title": view.title, "code": view.code, "tagline": tagline}


def _form_of_check(view: DraftView) -> dict[str, Any]:
    classes = view.intake.report.classes if view.intake and view.intake.report else ()
    return {
        "sets": [each.key for each in view.chosen],
        "seen": [f"{each.key}={each.role}" for each in view.sets if not each.is_open],
        "without_picture": (view.answers.check.without_picture if view.answers.check else None) or 0,
        "names": [each.name for each in classes],
        "positions": list(range(1, len(classes) + 1)),
        "ignored": [each.found for each in classes if each.is_ignored],
    }


def _form_of_scoring(view: DraftView) -> dict[str, Any]:
    usual = draft_rules.usual_protocol(_dataset(view))
    return _as_form(ScoringChoice, view.answers.scoring, protocol=usual, own="all", others="live")


def _form_of_rules(view: DraftView) -> dict[str, Any]:
    rules = view.answers.rules
    usual = draft_rules.proposed_quotas(view.changed_at, None) if view.has_hidden else {}
    proposed = {"visibility": "listed", "terms": "none", **usual}
    form = _as_form(RulesChoice, rules, **proposed)
    if rules is not None:
        form |= {"opens_at": in_form(rules.opens_at), "closes_at": in_form(rules.closes_at)}
    return form


def _form_of_page(view: DraftView) -> dict[str, Any]:
    assert view.texts is not None
    stored = {name: getattr(view.texts, name) for name in NewTexts.model_fields}
    return {**stored, **view.pictures.form, "overview": stored["overview"] or drafts.proposed_page(view)}


def _dataset(view: DraftView) -> str:
    return view.chosen[0].dataset if view.chosen else view.code


def _context_of_scoring(view: DraftView) -> dict[str, Any]:
    what, dataset = view.answers.what, _dataset(view)
    chosen = view.answers.scoring.protocol if view.answers.scoring else draft_rules.usual_protocol(dataset)
    numbers = draft_rules.competitions_of(dataset, what) if what else ()
    tasks = dict.fromkeys(heldout_scoring.competition_of(dataset, number).task for number in numbers)
    found = [task_rules(chosen, task) for task in tasks]
    return {
        "protocols": {
            name: heldout_scoring.PROTOCOLS[name].title for name in draft_rules.protocols_of(dataset)
        },
        "explained": [each for each in found if each is not None],
        "protocol": chosen,
        "levels": DISCLOSURE_LEVELS,
    }


def _context_of_rules(view: DraftView) -> dict[str, Any]:
    rules, quotas = view.answers.rules, None
    if rules is not None and rules.closes_at is not None and view.has_hidden:
        quotas = draft_rules.proposed_quotas(rules.opens_at or rules.saved_at, rules.closes_at)
    return {"quotas": quotas, "visibilities": VISIBILITIES, "choices": TERMS}


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
FORMS: Final[Mapping[Step, Callable[[DraftView], dict[str, Any]]]] = {
    Step.WHAT: _form_of_what, Step.DATA: lambda _: {}, Step.CHECK: _form_of_check,
    Step.SCORING: _form_of_scoring, Step.RULES: _form_of_rules, Step.PAGE: _form_of_page,
}  # fmt: skip
CONTEXTS: Final[Mapping[Step, Callable[[DraftView], dict[str, Any]]]] = {
    Step.WHAT: lambda _: {"tasks": tuple(Task)}, Step.DATA: lambda _: {}, Step.CHECK: lambda _: {},
    Step.SCORING: _context_of_scoring, Step.RULES: _context_of_rules, Step.PAGE: lambda _: {},
}  # fmt: skip


@router.get(f"{HERE}/what", dependencies=[ORGANISE])
def what(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 1: what the challenge is about."""
    return _step(request, platform, actor, challenge, Step.WHAT)


@router.get(f"{HERE}/data", dependencies=[ORGANISE])
def data(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 2: images and annotations."""
    return _step(request, platform, actor, challenge, Step.DATA)


@router.get(f"{HERE}/check", dependencies=[ORGANISE])
def check(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 3: what was read."""
    return _step(request, platform, actor, challenge, Step.CHECK)


@router.get(f"{HERE}/scoring", dependencies=[ORGANISE])
def scoring_step(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 4: how results are scored, and what is shown."""
    return _step(request, platform, actor, challenge, Step.SCORING)


@router.get(f"{HERE}/rules", dependencies=[ORGANISE])
def rules(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 5: dates, quotas, people and terms."""
    return _step(request, platform, actor, challenge, Step.RULES)


@router.get(f"{HERE}/page", dependencies=[ORGANISE])
def page(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Step 6: the page of the challenge, and its files."""
    return _step(request, platform, actor, challenge, Step.PAGE)


@router.post(f"{HERE}/what", dependencies=[ORGANISE])
def save_what(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save step 1."""
    form = _values(sent, What)
    try:
        code = drafts.save_what(platform, actor, challenge, What.model_validate(form))
    except (ValidationError, StepError) as error:
        return _step(request, platform, actor, challenge, Step.WHAT, form, _problems(error))
    return _to(code, Step.DATA)


def _problems(error: ValidationError | StepError) -> Mapping[str, str]:
    return field_errors(error) if isinstance(error, ValidationError) else error.problems


@router.post(f"{HERE}/data", dependencies=[ORGANISE])
def read(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Have a worker read the data set, and go on to see what it found."""
    view = drafts.draft_of(platform, actor, challenge)
    if view.intake is None:
        return _step(request, platform, actor, challenge, Step.DATA, {}, {"": "send annotation first"})
    try:
        intakes.read(platform, actor, view.intake.id)
    except ConflictError as error:
        return _step(request, platform, actor, challenge, Step.DATA, {}, {"": str(error)}, 409)
    return _to(challenge, Step.CHECK)


@router.post(f"{HERE}/data-set", dependencies=[ORGANISE])
def start_data_set(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Start the data set of a draft, or another in place of the one that its phases were made of."""
    drafts.start_data_set(platform, actor, challenge)
    return _to(challenge, Step.DATA)


@router.post(f"{HERE}/check", dependencies=[ORGANISE])
def save_check(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save step 3."""
    form = _values(sent, Check)
    try:
        is_read_again = drafts.save_check(platform, actor, challenge, Check.model_validate(form))
    except (ValidationError, StepError) as error:
        return _check_again(request, platform, actor, challenge, form, error)
    return _to(challenge, Step.CHECK if is_read_again else Step.SCORING)


@router.post(f"{HERE}/classes", dependencies=[ORGANISE])
def save_classes(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: LongForm
) -> Response:
    """Save which classes count, their names and order, and have a worker read the data set again."""
    form = _values(sent, ClassRows)
    try:
        drafts.save_classes(platform, actor, challenge, ClassRows.model_validate(form))
    except (ValidationError, StepError) as error:
        return _check_again(request, platform, actor, challenge, form, error)
    return _to(challenge, Step.CHECK)


@router.post(f"{HERE}/names", dependencies=[ORGANISE])
def save_names(platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm) -> Response:
    """Give hidden images neutral names, or their own again, and have a worker read the data set again."""
    drafts.save_names(platform, actor, challenge, is_neutral=bool(sent.get("neutral")))
    return _to(challenge, Step.CHECK)


@router.post(f"{HERE}/tables", dependencies=[ORGANISE])
def choose_tables(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Say how tables are read that do not say it themselves, and have a worker read the data set again."""
    view = drafts.draft_of(platform, actor, challenge)
    if view.intake is None:
        return _to(challenge, Step.DATA)
    with form.showing_errors():
        intakes.choose_tables(platform, actor, view.intake.id, form.read(TableRequest))
        return _to(challenge, Step.CHECK)
    shown = {**_form_of_check(view), **form.values}
    return _step(request, platform, actor, challenge, Step.CHECK, shown, form.problems, form.status)


def _check_again(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Mapping[str, Any],
    error: ValidationError | StepError,
) -> Response:
    """Show step 3 with what was typed in one of its two forms, and the other form as it was."""
    typed = {**_form_of_check(drafts.draft_of(platform, actor, challenge)), **form}
    return _step(request, platform, actor, challenge, Step.CHECK, typed, _problems(error))


@router.post(f"{HERE}/scoring", dependencies=[ORGANISE])
def save_scoring(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save step 4."""
    form = _values(sent, ScoringChoice)
    try:
        drafts.save_scoring(platform, actor, challenge, ScoringChoice.model_validate(form))
    except (ValidationError, StepError) as error:
        return _step(request, platform, actor, challenge, Step.SCORING, form, _problems(error))
    return _to(challenge, Step.RULES)


@router.post(f"{HERE}/rules", dependencies=[ORGANISE])
def save_rules(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save step 5."""
    names = ("opens_at", "closes_at")
    form = _values(sent, RulesChoice) | {
        f"{each.removesuffix('_at')}_zone": str(sent.get(f"{each.removesuffix('_at')}_zone", ""))
        for each in names
    }
    moments, problems = moments_of(form, names)
    try:
        chosen = RulesChoice.model_validate({**form, **moments, "saved_at": drafts.now(platform)})
        if not problems:
            drafts.save_rules(platform, actor, challenge, chosen, for_all=bool(sent.get("for_all")))
    except (ValidationError, StepError) as error:
        problems |= _problems(error)
    if problems:
        return _step(request, platform, actor, challenge, Step.RULES, form, problems)
    return _to(challenge, Step.PAGE)


@router.post(f"{HERE}/page", dependencies=[ORGANISE])
def save_page(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save step 6, and make the phases if all steps are done."""
    written, answer = values_of(sent, NewTexts), values_of(sent, ParticipantsPictures)
    form = written | answer
    try:
        new = NewTexts.model_validate(written)
        drafts.save_page(platform, actor, challenge, new, ParticipantsPictures.model_validate(answer))
    except ValidationError as error:
        return _step(request, platform, actor, challenge, Step.PAGE, form, field_errors(error))
    except ConflictError as error:
        return _step(request, platform, actor, challenge, Step.PAGE, form, {"": str(error)}, 409)
    view = drafts.draft_of(platform, actor, challenge)
    if view.can_be_made and (actor.owns_challenge(view.id) or not view.publishes):
        drafts.make_phases(platform, actor, challenge)
    if foreign_images(new.markdown, challenge):
        return _to(challenge, Step.PAGE)  # which says so
    return _overview(challenge)


# phases, opening, deleting


@router.post(f"{HERE}/phases", dependencies=[ORGANISE])
def make_phases(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Have a worker make the phases as the steps say, in place of those that were made before."""
    drafts.make_phases(platform, actor, challenge)
    return _overview(challenge)


@router.get(f"{HERE}/open", dependencies=[ORGANISE])
def ask_to_open(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask before the challenge opens, which cannot be taken back."""
    return _confirm(request, platform, actor, challenge, "open")


def _confirm(request: Request, platform: Platform, actor: Actor, challenge: str, act: str) -> Response:
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge)
    return render(request, "organisers/new/confirm.html", view=view, act=act, **OF_NO_STEP)


@router.post(f"{HERE}/open", dependencies=[ORGANISE])
@marked(done="The challenge is open.")
def open_now(platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm) -> Response:
    """Open the challenge now."""
    without = bool(form.text("without_pictures"))
    drafts.open_now(platform, actor, challenge, without_pictures=without)
    return _overview(challenge)


@router.get(f"{HERE}/schedule", dependencies=[ORGANISE])
def schedule(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask when the challenge is to open by itself."""
    return _schedule(request, platform, actor, challenge, None, NOTHING)


def _schedule(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Mapping[str, str] | None,
    problems: Mapping[str, str],
) -> Response:
    view = drafts.draft_of(platform, actor, challenge)
    if view.is_open:
        return _overview(challenge)
    typed = {"opens_at": in_form(view.opens_at)} if form is None else form
    code = 422 if problems else 200
    context = {**OF_NO_STEP, "view": view, "form": typed, "problems": problems}
    return render(request, "organisers/new/schedule.html", code=code, **context)


@router.post(f"{HERE}/schedule", dependencies=[ORGANISE])
@marked(done="Saved: when the challenge opens.")
def open_on(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Have the challenge open by itself at a time; without one, no longer."""
    form = {name: str(sent.get(name, "")) for name in ("opens_at", "opens_zone", "without_pictures")}
    moments, problems = moments_of(form, ["opens_at"])
    without = bool(form["without_pictures"])
    try:
        if not problems:
            drafts.open_on(platform, actor, challenge, moments["opens_at"], without_pictures=without)
    except StepError as error:
        problems |= error.problems
    if problems:
        return _schedule(request, platform, actor, challenge, form, problems)
    return _overview(challenge)


@router.get(f"{HERE}/delete", dependencies=[OWN])
def ask_to_delete(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Ask before a draft is deleted for good."""
    return _confirm(request, platform, actor, challenge, "delete")


@router.post(f"{HERE}/delete", dependencies=[OWN])
@marked(done="The draft is deleted.")
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Delete a draft with its data."""
    deleting.delete_draft(platform, actor, challenge)
    return RedirectResponse("/organise/new", status_code=303)
