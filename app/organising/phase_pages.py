"""HTML pages: phase settings and extra slots, for organisers; calendars for everyone."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges.phase_rules import parse_quota
from app.core.access import Action
from app.core.errors import FieldsError
from app.core.paging import Before
from app.core.units import MiB
from app.models import Quota
from app.organising import closing, pausing, phases
from app.organising.closing import EarlyClose
from app.organising.pausing import Pause
from app.organising.phases import NewRules, PhaseSheet
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
from app.web.forms import LONGEST_REASON, Form, TheForm
from app.web.route_marks import marked
from app.web.zones import in_form, zone_field

router = APIRouter(prefix="/organise", dependencies=[requires(Action.ORGANISE)])

calendars = APIRouter(dependencies=[requires(Action.READ_PUBLIC)])

CALENDAR = "text/calendar; charset=utf-8"
MOST_WINDOWS: Final = 4  # of the quotas in the form
SIZES: Final = ("max_upload", "max_unpacked_bytes", "max_file_bytes")  # in MiB in the form
DATES: Final = ("opens_at", "closes_at")

Saved = Annotated[bool, Query(description="whether the rules were just changed")]

# the empty forms that close a phase early, pause it and grant slots; their reasons have names of their own
OTHER_FORMS: Final = {
    "early": "", "early_at": "", "early_zone": "UTC", "early_reason": "", "pause_reason": "",
    "team": "", "task": "", "number": "1", "expires_at": "", "slot_reason": "",
}  # fmt: skip


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
    blank = min(1, MOST_WINDOWS - len(windows))
    total = next((str(each.results) for each in quotas if each.days is None), "")
    return {"quota_rows": [*windows, *[("", "")] * blank], "quota_total": total}


def _quotas(form: Form, own: Sequence[Quota]) -> list[dict[str, Any]]:
    """Return the quotas in a form as the API takes them, without empty rows; half a row is a problem. own: of the phase."""
    if "quota_total" not in form.sent:  # a page that was loaded before an upgrade has one field
        form.fill(_quota_rows(own))
        try:
            return [asdict(parse_quota(part)) for part in form.text("quotas").split(",") if part.strip()]
        except ValueError as error:
            raise FieldsError({"quotas": str(error)}) from error
    sent = [*zip_longest(form.texts("quota_results"), form.texts("quota_days"), fillvalue="")]
    form.values["quota_rows"] = sent
    if any((results == "") != (days == "") for results, days in sent):
        form.refuse({"quotas": "give both the results and the days, or leave both empty"})
    rows: list[dict[str, Any]] = [
        {"results": results, "days": days} for results, days in sent if results and days
    ]
    total = form.text("quota_total")
    return [*rows, *([{"results": total, "days": None}] if total else [])]


def _rules(form: Form, sheet: PhaseSheet) -> NewRules:
    """Read the form; an unchanged time keeps its seconds, and an unchanged limit is not set. Raises FieldsError."""
    now = _form_of(sheet)

    def limit(name: str) -> int | str | None:
        sent = form.text(name)
        if sent in ("", now[name]):
            return None
        return _in_bytes(sent) if name in SIZES else sent

    rules = form.read(
        NewRules,
        quotas=_quotas(form, sheet.phase.own_quotas),
        frozen_days=form.text("frozen_days") or 0,
        **{name: limit(name) for name in (*phases.LIMITS, "max_upload")},
    )
    unchanged = {
        name: getattr(sheet.phase, name) for name in DATES if in_form(getattr(rules, name)) == now[name]
    }
    return rules.model_copy(update=unchanged)


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
    return _page(request, phase_id, Form(), before=before, saved=saved)


def _page(
    request: Request, phase_id: int, form: Form, *, before: int | None = None, saved: bool = False
) -> Response:
    platform, actor = platform_of_request(request), actor_of_request(request)
    sheet = phases.phase_rules(platform, actor, phase_id, before, form.values.get("team", ""))
    return render(
        request,
        "phases/phase.html",
        sheet=sheet,
        form=form.fill(_form_of(sheet) | OTHER_FORMS),
        consequences=closing.consequences(sheet.phase),
        may_close=closing.may_close(actor, sheet.phase),
        saved=saved,
    )


@router.post("/phases/{phase_id}/rules")
def change(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Change dates and quotas of a phase."""
    with form.showing_errors():
        rules = _rules(form, phases.phase_rules(platform, actor, phase_id))
        phases.change_rules(platform, actor, phase_id, rules)
        return RedirectResponse(f"/organise/phases/{phase_id}?saved=1", status_code=303)
    return _page(request, phase_id, form)


@router.post("/phases/{phase_id}/close")
def close(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Close a phase early."""
    with form.showing_errors(names={"closes_at": "early_at", "reason": "early_reason"}):
        early = form.text("early")
        if early not in ("now", "at"):
            form.refuse({"early": "choose one"})
        elif early == "at" and not form.text("closes_at"):
            form.refuse({"closes_at": "is needed"})
        asked = form.read(EarlyClose, **({} if early == "at" else {"closes_at": None}))
        closing.close_early(platform, actor, phase_id, asked)
        return RedirectResponse(f"/organise/phases/{phase_id}?saved=1", status_code=303)
    return _page(request, phase_id, form)


@router.post("/phases/{phase_id}/pause")
@marked(done="Scoring is paused.")
def pause(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Pause scoring of a phase."""
    with form.showing_errors(names={"reason": "pause_reason"}):
        pausing.pause(platform, actor, phase_id, form.read(Pause))
        return RedirectResponse(f"/organise/phases/{phase_id}#scoring", status_code=303)
    return _page(request, phase_id, form)


@router.post("/phases/{phase_id}/resume")
@marked(done="Scoring goes on.")
def resume(platform: ThePlatform, actor: CurrentActor, phase_id: int) -> Response:
    """Resume scoring of a phase."""
    pausing.resume(platform, actor, phase_id)
    return RedirectResponse(f"/organise/phases/{phase_id}#scoring", status_code=303)


@router.post("/phases/{phase_id}/slots")
@marked(done="The extra slots are granted.")
def grant(
    request: Request, platform: ThePlatform, actor: CurrentActor, phase_id: int, form: TheForm
) -> Response:
    """Grant extra slots to a team, until the end of a day in UTC."""
    with form.showing_errors(names={"reason": "slot_reason"}):
        day = form.text("expires_at")
        slots = form.read(NewSlots, expires_at=day and f"{day}T23:59:59Z")
        quotas.grant(platform, actor, phase_id, slots)
        if (team := form.text("back_to_team")).isascii() and team.isdecimal():
            return RedirectResponse(f"/organise/teams/{team}", status_code=303)
        return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)
    return _page(request, phase_id, form)


@router.post("/slots/{slot_id}/take-back")
@marked(done="The extra slot is revoked.")
def take_back(platform: ThePlatform, actor: CurrentActor, slot_id: int, form: TheForm) -> Response:
    """Revoke an unused extra slot."""
    phase_id = quotas.revoke_slot(platform, actor, slot_id, form.text("reason", LONGEST_REASON))
    if (team := form.text("team")).isascii() and team.isdecimal():
        return RedirectResponse(f"/organise/teams/{team}", status_code=303)
    return RedirectResponse(f"/organise/phases/{phase_id}#slots", status_code=303)
