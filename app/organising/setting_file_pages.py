"""HTML pages: the settings of a challenge as a file, and challenges made or changed by one."""

from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.organising import challenge_file, drafts, setting_files
from app.organising.challenge_file import FileError, FileProblem
from app.organising.setting_files import FileOutcome
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import FormWithFile
from app.web.route_marks import marked

router = APIRouter(prefix="/organise")
ORGANISE: Final = requires(Action.ORGANISE)


@router.get("/challenges/{challenge}/settings.yaml", dependencies=[ORGANISE])
def export(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Download the settings of a challenge, without annotation, pictures and people."""
    text = challenge_file.written(setting_files.exported(platform, actor, challenge))
    return Response(text, media_type="application/yaml", headers=_headers(challenge, "yaml"))


@router.get("/challenges/{challenge}/settings.json", dependencies=[ORGANISE])
def export_as_json(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Download the same settings as JSON."""
    plain = setting_files.exported(platform, actor, challenge).plain
    return JSONResponse(plain, headers=_headers(challenge, "json"))


def _headers(challenge: str, ending: str) -> dict[str, str]:
    name = f'attachment; filename="{challenge}-settings.{ending}"'
    return {"Content-Disposition": name, "Cache-Control": "no-store"}


@router.get("/new/file", dependencies=[requires(Action.CREATE)])
def form(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Ask for a file of settings."""
    drafts.start_page(platform, actor)  # raises ForbiddenError
    return render(request, "organisers/new/file.html", text="", problems=(), outcome=None)


@router.post("/new/file", dependencies=[requires(Action.CREATE), limited(Limited.CHANGE)])
@marked(done="The file is applied.")
def read(request: Request, platform: ThePlatform, actor: CurrentActor, form: FormWithFile) -> Response:
    """Create the draft that a file describes; or show in what it differs from a challenge, and change that after a second click."""
    sent = form.file("file")
    content = sent.file.read(challenge_file.LARGEST + 1) if sent else form.text("text").encode()
    text = content.decode(errors="replace").replace("\r\n", "\n")
    outcome: FileOutcome | None = None
    problems: tuple[FileProblem, ...] = ()
    try:
        outcome = setting_files.read(
            platform,
            actor,
            content,
            confirmed=form.text("seen") or None,
            annotation_is_public=bool(form.text("annotation_is_public")),
        )
    except FileError as error:
        problems = error.problems
    if outcome is not None and outcome.is_applied and not outcome.differences:
        code = quote(outcome.code)
        address = f"/organise/new/{code}" if outcome.is_new else f"/organise/challenges/{code}"
        return RedirectResponse(address, status_code=303)
    return render(
        request,
        "organisers/new/file.html",
        code=422 if problems else 200,
        text=text,
        problems=problems,
        outcome=outcome,
    )
