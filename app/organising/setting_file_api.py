"""JSON API: challenges as files of settings, in YAML or JSON."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.organising import challenge_file, setting_files
from app.organising.setting_files import FileOutcome
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1/organise/challenges", tags=["organisers"])
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


async def _content(request: Request) -> bytes:
    return await request.body()


Content = Annotated[bytes, Depends(_content)]
Apply = Annotated[
    bool, Query(description="change the challenge; otherwise only the differences are returned")
]
IsPublic = Annotated[
    bool,
    Query(description="the annotation of phases that are to show everything is public; required for that"),
]


@router.get("/{challenge}/file", dependencies=[requires(Action.ORGANISE)], response_class=Response)
def export(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Return the settings of a challenge in YAML, without annotation, images and people."""
    text = challenge_file.written(setting_files.exported(platform, actor, challenge))
    return Response(text, media_type="application/yaml", headers={"Cache-Control": "no-store"})


@router.post("", dependencies=[requires(Action.CREATE), limited(Limited.CHANGE)], openapi_extra=BODY)
def create(
    platform: ThePlatform,
    actor: CurrentActor,
    content: Content,
    *,
    apply: Apply = False,
    annotation_is_public: IsPublic = False,
) -> FileOutcome:
    """Create the draft that a file describes. If you organise a challenge at its address, this does what PUT does there."""
    confirmed = "" if apply else None
    return setting_files.read(
        platform, actor, content, confirmed=confirmed, annotation_is_public=annotation_is_public
    )


@router.put(
    "/{challenge}/file", dependencies=[requires(Action.ORGANISE), limited(Limited.CHANGE)], openapi_extra=BODY
)
def change(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    content: Content,
    *,
    apply: Apply = False,
    annotation_is_public: IsPublic = False,
) -> FileOutcome:
    """Compare a challenge with a file, and change what may be changed; what stays otherwise says why. A file may be partial."""
    confirmed = "" if apply else None
    return setting_files.read(
        platform,
        actor,
        content,
        confirmed=confirmed,
        annotation_is_public=annotation_is_public,
        code=challenge,
    )
