"""The organisers' page of a phase: its dates, quotas and extra slots."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from app.access import Action
from app.errors import MalformedError, RefusedError
from app.form_errors import field_errors
from app.imports.rules import quota_from
from app.phases import service
from app.phases.schemas import NewQuota, NewRules, PhaseSheet
from app.quotas import service as quotas
from app.quotas.schemas import NewSlots
from app.row_pages import Before
from app.web import CurrentActor, ThePlatform, actor_of_request, platform_of_request, render, requires

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

calendars = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

CALENDAR = "text/calendar; charset=utf-8"
UTC_INPUT = "%Y-%m-%dT%H:%M"


class RulesForm(BaseModel):
    """The fields as the browser sends them; times are UTC."""

    opens_at: str = ""
    closes_at: str = ""
    grace_minutes: str = ""
    quotas: str = ""
    embargo: bool = False
    max_boxes: str = ""
    max_total_lines: str = ""
    reason: str = ""

    @classmethod
    def of(cls, sheet: PhaseSheet) -> "RulesForm":
        """What the phase has now."""
        phase, limits = sheet.phase, sheet.limits
        return cls(
            opens_at=f"{phase.opens_at:{UTC_INPUT}}",
            closes_at=f"{phase.closes_at:{UTC_INPUT}}" if phase.closes_at else "",
            grace_minutes=str(int(phase.grace.total_seconds() // 60)),
            quotas=", ".join(f"{quota.results}/{quota.days}" for quota in phase.own_quotas),
            embargo=phase.embargo,
            max_boxes=str(limits.max_boxes),
            max_total_lines=str(limits.max_total_lines),
        )

    def to_rules(self, sheet: PhaseSheet) -> NewRules:
        """The form as a request of the API; a time that was left as it is keeps its seconds. Raises ValueError."""
        given, now = self.model_dump(), RulesForm.of(sheet).model_dump()
        quotas = [quota_from(part) for part in self.quotas.split(",") if part.strip()]
        times = {
            name: getattr(sheet.phase, name)
            if given[name] == now[name]
            else f"{given[name]}Z"
            if given[name]
            else None
            for name in ("opens_at", "closes_at")
        }
        windows = tuple(NewQuota(results=quota.results, days=quota.days) for quota in quotas)
        kept = {name: None if given[name] in ("", now[name]) else given[name] for name in service.LIMITS}
        return NewRules.model_validate(given | times | kept | {"quotas": windows})


class SlotsForm(BaseModel):
    """The fields as the browser sends them; `NewSlots` says which are good."""

    team: str = ""
    task: str = ""
    number: str = "1"
    slot_reason: str = ""  # the page has two forms with a reason

    def to_slots(self) -> NewSlots:
        """The form as a request of the API; raises ValidationError."""
        return NewSlots.model_validate(
            self.model_dump(exclude={"slot_reason"}) | {"reason": self.slot_reason}
        )


@calendars.get("/editions/{edition}/calendar.ics")
def edition_calendar(platform: ThePlatform, edition: str) -> Response:
    """The dates of an edition's phases for calendar programs."""
    return Response(service.calendar(platform, edition), media_type=CALENDAR)


@calendars.get("/editions/{edition}/{image_set}/calendar.ics")
def phase_calendar(platform: ThePlatform, edition: str, image_set: str) -> Response:
    """The dates of a phase for calendar programs."""
    return Response(service.calendar(platform, edition, image_set), media_type=CALENDAR)


@router.get("/phases/{phase_id}")
def phase(request: Request, phase_id: int, before: Before = None) -> Response:
    """Dates, quotas and extra slots of a phase, and the forms that change them."""
    return _page(request, phase_id, None, SlotsForm(), before=before)


def _page(
    request: Request,
    phase_id: int,
    rules: RulesForm | None,
    slots: SlotsForm,
    problems: dict[str, str] | None = None,
    refused: tuple[str, ...] = (),
    before: int | None = None,
) -> Response:
    sheet = service.sheet(platform_of_request(request), actor_of_request(request), phase_id, before)
    form = (rules or RulesForm.of(sheet)).model_dump()
    return render(
        request,
        "phases/phase.html",
        code=409 if refused else 422 if problems else 200,
        sheet=sheet,
        form=form | slots.model_dump(),
        problems=problems or {},
        refused=refused,
    )


@router.post("/phases/{phase_id}/rules")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    form: Annotated[RulesForm, Form()],
) -> Response:
    """Change dates and quotas of a phase."""
    try:
        rules = form.to_rules(service.sheet(platform, actor, phase_id))
        service.change(platform, actor, phase_id, rules)
    except ValidationError as error:
        return _page(request, phase_id, form, SlotsForm(), dict(field_errors(error)))
    except ValueError as error:
        return _page(request, phase_id, form, SlotsForm(), {"quotas": str(error)})
    except RefusedError as error:
        return _page(
            request, phase_id, form, SlotsForm(), refused=tuple(one.message for one in error.refusals)
        )
    return RedirectResponse(f"/organise/phases/{phase_id}", status_code=303)


@router.post("/phases/{phase_id}/slots")
def grant(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    form: Annotated[SlotsForm, Form()],
) -> Response:
    """Grant extra slots to a team."""
    try:
        quotas.grant(platform, actor, phase_id, form.to_slots())
    except ValidationError as error:
        found = field_errors(error)
        problems = {"slot_" + name if name == "reason" else name: text for name, text in found.items()}
        return _page(request, phase_id, None, form, problems)
    except MalformedError as error:
        field, _, message = str(error).partition(": ")
        return _page(request, phase_id, None, form, {field: message})
    return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)


@router.post("/slots/{slot_id}/take-back")
def take_back(
    platform: ThePlatform,
    actor: CurrentActor,
    slot_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Take an extra slot back that was not used."""
    phase_id = quotas.take_back(platform, actor, slot_id, reason)
    return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)
