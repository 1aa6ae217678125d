"""HTML pages: phase settings and extra slots, for organisers; calendars for everyone."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.challenges.phase_rules import parse_quota
from app.core.access import Action
from app.core.errors import FieldsError, RefusedError
from app.core.paging import Before
from app.core.units import MiB
from app.models import Quota
from app.organising import closing, pausing, phases
from app.organising.closing import EarlyClose
from app.organising.pausing import Pause
from app.organising.phases import NewQuota, NewRules, PhaseSheet
from app.submissions import quotas
from app.submissions.quotas import NewSlots
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import SentForm, field_errors, values_of
from app.web.zones import in_form, moments_of, zone_field

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

calendars = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

CALENDAR = "text/calendar; charset=utf-8"
MOST_WINDOWS: Final = 4  # of the quotas in the form
SIZES: Final = ("max_upload", "max_unpacked_bytes", "max_file_bytes")  # in MiB in the form
DATES: Final = ("opens_at", "closes_at")
CLOSING: Final = {"early": "", "early_at": "", "early_zone": "UTC", "early_reason": ""}  # the empty form
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

Saved = Annotated[bool, Query(description="whether the rules were just changed")]

# the empty form of extra slots; its reason has its own name, because the page has two forms with a reason
SLOTS: Final = {"team": "", "task": "", "number": "1", "expires_at": "", "slot_reason": ""}


def _form_of(sheet: PhaseSheet) -> dict[str, Any]:
    """Fill the form with the current settings of the phase; times are UTC."""
    phase, limits = sheet.phase, sheet.limits
    sizes = {
        "max_upload": phase.max_upload or sheet.bounds.max_upload,
        "max_unpacked_bytes": limits.max_unpacked_bytes,
        "max_file_bytes": limits.max_file_bytes,
    }
    return {
        "opens_at": in_form(phase.opens_at),
        "closes_at": in_form(phase.closes_at),
        **dict.fromkeys(map(zone_field, DATES), "UTC"),
        "grace_minutes": str(int(phase.grace.total_seconds() // 60)),
        **_quota_rows(phase.own_quotas),
        "embargo": phase.embargo,
        "frozen_days": str(phase.frozen_days),
        **{name: str(getattr(limits, name)) for name in phases.LIMITS if name not in SIZES},
        **{name: _in_mib(value) for name, value in sizes.items()},
        "reason": "",
    }


def _in_mib(count: int) -> str:
    """Write a number of bytes for a field in MiB.

    >>> _in_mib(128 << 20), _in_mib(1_400_000_000)
    ('128', '1335.14')
    """
    return f"{count / MiB:.2f}".removesuffix(".00")


def _in_bytes(sent: str) -> int | str:
    """Read a field in MiB; text that is no number is left for the model to refuse."""
    try:
        return math.ceil(float(sent) * MiB)
    except (ValueError, OverflowError):
        return sent


def _quota_rows(quotas: Sequence[Quota]) -> dict[str, Any]:
    """Fill the fields of quotas: a row for each window and one more, and the quota in total."""
    windows = [(str(each.results), str(each.days)) for each in quotas if each.days is not None]
    blank = max(2 - len(windows), min(1, MOST_WINDOWS - len(windows)))
    total = next((str(each.results) for each in quotas if each.days is None), "")
    return {"quota_rows": [*windows, *[("", "")] * blank], "quota_total": total}


def _sent_quotas(sent: FormData, own: Sequence[Quota]) -> dict[str, Any]:
    """Return the fields of quotas as they were sent. own: those of the phase."""
    if "quota_total" not in sent:  # a page that was loaded before an upgrade has one field
        return _quota_rows(own)
    rows = [*zip_longest(sent.getlist("quota_results"), sent.getlist("quota_days"), fillvalue="")]
    return {"quota_rows": rows, "quota_total": sent["quota_total"], "quotas": None}


def _quotas(form: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the quotas in a form as the API takes them, without empty rows. Raises ValueError for half a row."""
    if form["quotas"] is not None:
        parsed = (parse_quota(part) for part in form["quotas"].split(",") if part.strip())
        return [{"results": each.results, "days": each.days} for each in parsed]
    rows = [{"results": results, "days": days} for results, days in form["quota_rows"] if results or days]
    if any("" in row.values() for row in rows):
        raise ValueError("give both the results and the days, or leave both empty")
    total = form["quota_total"]
    return [*rows, *([{"results": total, "days": None}] if total else [])]


def _of_quotas(problems: Mapping[str, str]) -> dict[str, str]:
    """Show the problems of a quota at all of them."""
    found = {name: text for name, text in problems.items() if name not in NewQuota.model_fields}
    wrong = [f"{name} {text}" for name, text in problems.items() if name in NewQuota.model_fields]
    return found | ({"quotas": "; ".join(wrong)} if wrong else {})


def _rules(form: Mapping[str, Any], moments: Mapping[str, Any], sheet: PhaseSheet) -> NewRules:
    """Convert the form to an API request; an unchanged time keeps its seconds. Raises ValueError.

    moments: the times in the form, in their zones.
    """
    now = _form_of(sheet)
    times = {
        name: getattr(sheet.phase, name) if in_form(moment) == now[name] else moment
        for name, moment in moments.items()
    }
    limits = {
        name: None if form[name] in ("", now[name]) else form[name] for name in (*phases.LIMITS, "max_upload")
    }
    sizes = {name: _in_bytes(value) for name, value in limits.items() if name in SIZES and value is not None}
    fields = {name: form[name] for name in NewRules.model_fields} | {"frozen_days": form["frozen_days"] or 0}
    return NewRules.model_validate({**fields, **times, **limits, **sizes, "quotas": _quotas(form)})


@calendars.get("/challenges/{challenge}/calendar.ics")
def challenge_calendar(platform: ThePlatform, challenge: str) -> Response:
    """Serve the dates of a challenge's phases as iCalendar."""
    return Response(phases.calendar(platform, challenge), media_type=CALENDAR)


@calendars.get("/challenges/{challenge}/{image_set}/calendar.ics")
def phase_calendar(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Serve the dates of a phase as iCalendar."""
    return Response(phases.calendar(platform, challenge, image_set), media_type=CALENDAR)


@router.get("/phases/{phase_id}")
def phase(request: Request, phase_id: int, before: Before = None, saved: Saved = False) -> Response:  # noqa: FBT002
    """Show dates, quotas and extra slots of a phase, and the forms that change them."""
    return _page(request, phase_id, before=before, saved=saved)


def _page(
    request: Request,
    phase_id: int,
    form: Mapping[str, Any] | None = None,
    slots: Mapping[str, Any] = SLOTS,
    *,
    early: Mapping[str, Any] = CLOSING,
    pause_reason: object = "",
    problems: Mapping[str, str] = NOTHING,
    refused: tuple[str, ...] = (),
    before: int | None = None,
    saved: bool = False,
) -> Response:
    platform, actor = platform_of_request(request), actor_of_request(request)
    sheet = phases.phase_rules(platform, actor, phase_id, before, str(slots["team"]))
    return render(
        request,
        "phases/phase.html",
        code=409 if refused else 422 if problems else 200,
        sheet=sheet,
        form={**(form or _form_of(sheet)), **slots, **early, "pause_reason": pause_reason},
        problems=problems,
        refused=refused,
        consequences=closing.consequences(sheet.phase),
        may_close=closing.may_close(actor, sheet.phase),
        saved=saved,
    )


@router.post("/phases/{phase_id}/rules")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    sent: SentForm,
) -> Response:
    """Change dates and quotas of a phase."""
    form = values_of(sent, NewRules) | {zone_field(name): sent.get(zone_field(name), "") for name in DATES}
    sheet = phases.phase_rules(platform, actor, phase_id)
    form |= _sent_quotas(sent, sheet.phase.own_quotas)
    moments, problems = moments_of(form, DATES)
    try:
        rules = _rules(form, moments, sheet)
        if not problems:
            phases.change_rules(platform, actor, phase_id, rules)
    except ValidationError as error:
        problems = {**_of_quotas(field_errors(error)), **problems}
    except ValueError as error:
        problems["quotas"] = str(error)
    except RefusedError as error:
        return _page(request, phase_id, form, refused=tuple(one.message for one in error.refusals))
    if problems:
        return _page(request, phase_id, form, problems=problems)
    return RedirectResponse(f"/organise/phases/{phase_id}?saved=1", status_code=303)


@router.post("/phases/{phase_id}/close")
def close(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, sent: SentForm
) -> Response:
    """Close a phase early."""
    form = {name: sent.get(name, "") for name in CLOSING}
    problems: dict[str, str] = {}
    closes_at = None
    match form["early"]:
        case "now":
            pass
        case "at":
            moments, problems = moments_of(form, ["early_at"])
            closes_at = moments["early_at"]
            if closes_at is None:
                problems.setdefault("early_at", "is needed")
        case _:
            problems["early"] = "choose one"
    try:
        asked = EarlyClose.model_validate({"closes_at": closes_at, "reason": form["early_reason"]})
    except ValidationError as error:
        problems["early_reason"] = field_errors(error)["reason"]
    if problems:
        return _page(request, phase_id, early=form, problems=problems)
    try:
        closing.close_early(platform, actor, phase_id, asked)
    except RefusedError as error:
        return _page(request, phase_id, early=form, refused=tuple(one.message for one in error.refusals))
    return RedirectResponse(f"/organise/phases/{phase_id}?saved=1", status_code=303)


@router.post("/phases/{phase_id}/pause")
def pause(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, sent: SentForm
) -> Response:
    """Pause scoring of a phase."""
    form = {"reason": sent.get("pause_reason", "")}
    try:
        pausing.pause(platform, actor, phase_id, Pause.model_validate(form))
    except ValidationError as error:
        problems = {"pause_reason": field_errors(error)["reason"]}
        return _page(request, phase_id, pause_reason=form["reason"], problems=problems)
    return RedirectResponse(f"/organise/phases/{phase_id}#scoring", status_code=303)


@router.post("/phases/{phase_id}/resume")
def resume(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Resume scoring of a phase."""
    pausing.resume(platform, actor, phase_id)
    return RedirectResponse(f"/organise/phases/{phase_id}#scoring", status_code=303)


def new_slots(form: Mapping[str, Any]) -> NewSlots:
    """Convert a form to an API request; its last day is in UTC and counts as a whole. Raises ValidationError."""
    day = form["expires_at"]
    return NewSlots.model_validate({**form, "expires_at": day and f"{day}T23:59:59Z"})


@router.post("/phases/{phase_id}/slots")
def grant(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    phase_id: int,
    sent: SentForm,
) -> Response:
    """Grant extra slots to a team."""
    slots = values_of(sent, NewSlots) | {"reason": sent.get("slot_reason", "")}
    shown = {name: slots[name.removeprefix("slot_")] for name in SLOTS}
    try:
        quotas.grant(platform, actor, phase_id, new_slots(slots))
    except ValidationError as error:
        problems = {
            "slot_" + name if name == "reason" else name: text for name, text in field_errors(error).items()
        }
        return _page(request, phase_id, slots=shown, problems=problems)
    except FieldsError as error:
        return _page(request, phase_id, slots=shown, problems=error.by_field)
    back = sent.get("back_to_team", "")
    if isinstance(back, str) and back.isascii() and back.isdecimal():
        return RedirectResponse(f"/organise/teams/{back}", status_code=303)
    return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)


@router.post("/slots/{slot_id}/take-back")
def take_back(
    platform: ThePlatform,
    actor: CurrentActor,
    slot_id: int,
    reason: Annotated[str, Form(max_length=1000)] = "",
    team: Annotated[int | None, Form(description="to return to")] = None,
) -> Response:
    """Revoke an unused extra slot."""
    phase_id = quotas.revoke_slot(platform, actor, slot_id, reason)
    if team is not None:
        return RedirectResponse(f"/organise/teams/{team}", status_code=303)
    return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)
